#include "net/acceptor.h"

#include "base/result.h"
#include "runtime/asio_loop.h"

namespace porthole::net {

Acceptor::Acceptor(AsioLoop& loop, std::size_t most, Serve serve, Logger log)
    : most_(most), serve_(std::move(serve)), log_(std::move(log)), listeners_(loop), connections_(loop) {}

Task<> Acceptor::close() {
    CO_TRY_VOID(co_await listeners_.close());
    co_return co_await connections_.close();
}

Task<> Acceptor::accept(std::unique_ptr<Listener> listener) {
    for (;;) {
        auto accepted = co_await listener->accept();
        if (is_cancelled(accepted)) co_return std::move(accepted).error();
        if (!accepted) {
            log_.warn("connection not accepted", {{"error", accepted.error().message}});
            CO_TRY_VOID(co_await listeners_.loop().sleep(std::chrono::milliseconds(100)));
        } else if (open_ < most_) {
            ++open_;
            connections_.spawn(serve(*std::move(accepted)));
        }
    }
}

Task<> Acceptor::serve(Accepted accepted) {
    const std::string address = accepted.peer.address;
    auto ended = co_await serve_(std::move(accepted));
    --open_;
    if (!ended) log_.debug("connection ended", {{"peer", address}, {"why", ended.error().message}});
    co_return {};
}

}  // namespace porthole::net
