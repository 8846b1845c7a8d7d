#pragma once
#include <memory>
#include <string>

#include "net/socket.h"
#include "runtime/scope.h"

namespace porthole::winhost {

/// A TCP port in front of a Unix socket: for programs under Wine, which have no Unix sockets. A connection begins with a line that is the
/// token; everything after it is relayed. A connection without it is dropped. close() it before destroying it.
class TokenGate {
public:
    /// Error: AlreadyExists when the port is taken. Port 0 picks one.
    static Result<std::unique_ptr<TokenGate>> listen(AsioLoop& loop, std::uint16_t port, std::string token, std::string unix_socket);

    std::uint16_t port() const { return listener_->port(); }
    Task<> close() { return scope_.close(); }

private:
    TokenGate(AsioLoop& loop, std::unique_ptr<net::Listener> listener, std::string token, std::string unix_socket)
        : loop_(loop),
          listener_(std::move(listener)),
          token_(std::move(token)),
          unix_socket_(std::move(unix_socket)),
          scope_(as_loop(loop)) {}
    static EventLoop& as_loop(AsioLoop& loop);
    Task<> accept();
    Task<> serve(std::unique_ptr<net::ByteStream> client);

    AsioLoop& loop_;
    std::unique_ptr<net::Listener> listener_;
    std::string token_, unix_socket_;
    Scope scope_;
};

}  // namespace porthole::winhost
