#include "hns/wire/server.h"

#include "base/result.h"

namespace porthole::hns::wire {

Result<void> Server::listen(const std::string& address, std::uint16_t port) {
    TRY(listener_, net::Listener::tcp(loop_, address, port));
    scope_.spawn(accept());
    return {};
}

Task<> Server::accept() {
    while (true) {
        auto accepted = co_await listener_->accept();
        if (is_cancelled(accepted)) co_return std::move(accepted).error();
        if (!accepted) {
            log_.warn("cannot accept a connection", {{"error", accepted.error().message}});
            CO_TRY_VOID(co_await loop_.sleep(std::chrono::milliseconds(100)));
            continue;
        }
        if (connections_ >= ConnectionLimit) {
            log_.warn("too many connections");
            continue;
        }
        ++connections_;
        scope_.spawn(serve_one(std::move(accepted->stream)));
    }
}

Task<> Server::serve_one(std::unique_ptr<net::ByteStream> stream) {
    auto served = co_await serve(context_, std::move(stream));
    --connections_;
    if (!served && !is_cancelled(served) && served.error().reason != Reason::Unavailable) {
        log_.warn("connection refused", {{"error", served.error().message}});
    }
    co_return {};
}

}  // namespace porthole::hns::wire
