#pragma once
#include <memory>
#include <string>

#include "net/acceptor.h"

namespace porthole::winhost {

/// A TCP port in front of a Unix socket: for programs under Wine, to which the folder of the socket is not shown. A connection begins with
/// a line that is the token; everything after it is relayed. A connection without it is dropped, and so are further ones than
/// MostConnections. close() it before destroying it.
class TokenGate {
public:
    static constexpr std::size_t MostConnections = 256;

    /// Error: AlreadyExists if the port is in use. Port 0 picks a free one.
    static Result<std::unique_ptr<TokenGate>> listen(AsioLoop& loop, std::uint16_t port, std::string token, std::string unix_socket);

    std::uint16_t port() const { return port_; }
    Task<> close() { return acceptor_.close(); }

private:
    TokenGate(AsioLoop& loop, std::string token, std::string unix_socket);
    Task<> serve(net::Accepted accepted);

    AsioLoop& loop_;
    std::string token_, unix_socket_;
    std::uint16_t port_ = 0;
    net::Acceptor acceptor_;
};

}  // namespace porthole::winhost
