#include "net/http/http_server.h"

#include <algorithm>

#include "net/acceptor.h"
#include "net/fair_stream.h"
#include "net/flow.h"
#include "net/http/forwarded_handler.h"
#include "net/http/http_connection.h"
#include "runtime/component_thread.h"

namespace porthole::net {

struct HttpServer::Impl {
    Impl(AsioLoop& home, HttpHandler& handler, HttpServerOptions options, Logger log)
        : options(std::move(options)),
          thread(this->options.own_thread ? std::make_unique<ComponentThread>() : nullptr),
          loop(thread ? thread->loop() : home),
          handler(handler),
          acceptor(loop, this->options.most_connections, [this](Accepted accepted) { return serve(std::move(accepted)); }, std::move(log)) {
        limits.body_limit = this->options.body_limit;
        limits.buffered_bodies = std::max(limits.buffered_bodies, limits.body_limit);
        limits.bodies = &bodies;
        limits.answers = &answers;
        limits.turns = &turns;
        if (!thread) return;
        forwarded.emplace(loop, home, handler);
        turns.next = [this, &home](Callback callback) {
            home.post([this, callback = std::move(callback)]() mutable { loop.post(std::move(callback)); });
        };
    }

    Task<> serve(Accepted accepted) {
        HttpHandler& served = forwarded ? *forwarded : handler;
        accepted.peer.flow = flow_of(accepted.peer.address);
        auto stream =
            fair_stream(options.turns && !thread ? *options.turns : turns_of_streams, accepted.peer.flow, std::move(accepted.stream));
        return serve_connection(loop, std::move(stream), std::move(accepted.peer), options.tls, served, limits);
    }

    void add(std::unique_ptr<Listener> listener) {
        if (!thread) return acceptor.add(std::move(listener));
        loop.post([this, listener = std::move(listener)]() mutable { acceptor.add(std::move(listener)); });
    }

    const HttpServerOptions options;
    const std::unique_ptr<ComponentThread> thread;  ///< null: connections are on the handler's loop
    AsioLoop& loop;                                 ///< of the connections
    HttpHandler& handler;
    // On the connections' loop.
    std::optional<ForwardedHandler> forwarded;  ///< if there is a thread
    HttpLimits limits;
    BodyBudget bodies;
    AnswerBudget answers{512 << 20};
    HandlerTurns turns;
    Turns turns_of_streams{loop, loop, std::chrono::microseconds(250)};
    Acceptor acceptor;
};

HttpServer::HttpServer(AsioLoop& loop, HttpHandler& handler, HttpServerOptions options, Logger log)
    : impl_(std::make_unique<Impl>(loop, handler, std::move(options), std::move(log))) {}

HttpServer::~HttpServer() = default;

Result<std::uint16_t> HttpServer::listen(const std::string& address, std::uint16_t port) {
    TRY(auto listener, Listener::tcp(impl_->loop, address, port));
    const std::uint16_t chosen = listener->port();
    impl_->add(std::move(listener));
    return chosen;
}

Result<void> HttpServer::listen_unix(const std::string& path) {
    TRY(auto listener, Listener::local(impl_->loop, path));
    impl_->add(std::move(listener));
    return {};
}

Task<> HttpServer::close() {
    if (!impl_->thread) return impl_->acceptor.close();
    return impl_->thread->run([this] { return impl_->acceptor.close(); });
}

}  // namespace porthole::net
