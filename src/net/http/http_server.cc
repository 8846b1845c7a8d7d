#include "net/http/http_server.h"

#include <algorithm>

#include "net/http/http_connection.h"
#include "net/socket.h"
#include "runtime/asio_loop.h"
#include "runtime/scope.h"

namespace porthole::net {

struct HttpServer::Impl {
    Impl(AsioLoop& loop, HttpHandler& handler, HttpServerOptions options, Logger log)
        : loop(loop), handler(handler), options(std::move(options)), log(std::move(log)) {
        limits.body_limit = this->options.body_limit;
        limits.buffered_bodies = std::max(limits.buffered_bodies, limits.body_limit);
        limits.bodies = &bodies;
        limits.answers = &answers;
        limits.turns = &turns;
    }

    Task<> accept_all(std::unique_ptr<Listener> listener) {
        constexpr auto Pause = std::chrono::milliseconds(100);  // for descriptors to become free
        for (;;) {
            auto accepted = co_await listener->accept();
            if (accepted && open >= options.most_connections) continue;  // closes it
            if (accepted) {
                connections.spawn(serve(*std::move(accepted)));
                continue;
            }
            if (accepted.error().reason != Reason::Io) co_return std::move(accepted).error();
            log.warn("connection not accepted", {{"error", accepted.error().message}});
            CO_TRY_VOID(co_await loop.sleep(Pause));
        }
    }

    Task<> serve(Accepted accepted) {
        const std::string address = accepted.peer.address;
        ++open;
        auto ended = co_await serve_connection(loop, std::move(accepted.stream), std::move(accepted.peer), options.tls, handler, limits);
        --open;
        if (!ended) log.debug("connection ended", {{"peer", address}, {"why", ended.error().message}});
        co_return {};
    }

    AsioLoop& loop;
    HttpHandler& handler;
    HttpServerOptions options;
    HttpLimits limits;
    BodyBudget bodies;
    AnswerBudget answers{512 << 20};
    HandlerTurns turns;
    std::size_t open = 0;  ///< connections
    Logger log;
    Scope listeners{loop}, connections{loop};
};

HttpServer::HttpServer(AsioLoop& loop, HttpHandler& handler, HttpServerOptions options, Logger log)
    : impl_(std::make_unique<Impl>(loop, handler, std::move(options), std::move(log))) {}

HttpServer::~HttpServer() = default;

Result<std::uint16_t> HttpServer::listen(const std::string& address, std::uint16_t port) {
    TRY(auto listener, Listener::tcp(impl_->loop, address, port));
    const std::uint16_t chosen = listener->port();
    impl_->listeners.spawn(impl_->accept_all(std::move(listener)));
    return chosen;
}

Result<void> HttpServer::listen_unix(const std::string& path) {
    TRY(auto listener, Listener::local(impl_->loop, path));
    impl_->listeners.spawn(impl_->accept_all(std::move(listener)));
    return {};
}

Task<> HttpServer::close() {
    CO_TRY_VOID(co_await impl_->listeners.close());
    CO_TRY_VOID(co_await impl_->connections.close());
    co_return {};
}

}  // namespace porthole::net
