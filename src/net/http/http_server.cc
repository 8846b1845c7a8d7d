#include "net/http/http_server.h"

#include <algorithm>

#include "net/acceptor.h"
#include "net/http/http_connection.h"
#include "runtime/asio_loop.h"
#include "runtime/scope.h"

namespace porthole::net {

struct HttpServer::Impl {
    Impl(AsioLoop& loop, HttpHandler& handler, HttpServerOptions options, Logger log)
        : loop(loop),
          handler(handler),
          options(std::move(options)),
          acceptor(loop, this->options.most_connections, [this](Accepted accepted) { return serve(std::move(accepted)); }, std::move(log)) {
        limits.body_limit = this->options.body_limit;
        limits.buffered_bodies = std::max(limits.buffered_bodies, limits.body_limit);
        limits.bodies = &bodies;
        limits.answers = &answers;
        limits.turns = &turns;
    }

    Task<> serve(Accepted accepted) {
        return serve_connection(loop, std::move(accepted.stream), std::move(accepted.peer), options.tls, handler, limits);
    }

    AsioLoop& loop;
    HttpHandler& handler;
    HttpServerOptions options;
    HttpLimits limits;
    BodyBudget bodies;
    AnswerBudget answers{512 << 20};
    HandlerTurns turns;
    Acceptor acceptor;
};

HttpServer::HttpServer(AsioLoop& loop, HttpHandler& handler, HttpServerOptions options, Logger log)
    : impl_(std::make_unique<Impl>(loop, handler, std::move(options), std::move(log))) {}

HttpServer::~HttpServer() = default;

Result<std::uint16_t> HttpServer::listen(const std::string& address, std::uint16_t port) {
    TRY(auto listener, Listener::tcp(impl_->loop, address, port));
    const std::uint16_t chosen = listener->port();
    impl_->acceptor.add(std::move(listener));
    return chosen;
}

Result<void> HttpServer::listen_unix(const std::string& path) {
    TRY(auto listener, Listener::local(impl_->loop, path));
    impl_->acceptor.add(std::move(listener));
    return {};
}

Task<> HttpServer::close() { return impl_->acceptor.close(); }

}  // namespace porthole::net
