#pragma once
#include "net/spdy.h"
#include "net/websocket.h"

namespace porthole::net {

/// One connection carried by port-forward: its bytes, and a stream that ends with an error text or nothing.
struct ForwardedConnection {
    std::uint16_t port = 0;
    std::unique_ptr<ByteStream> data, errors;
};

/// Server: answers the upgrade and yields the bytes of the SPDY session, be it upgraded to or tunnelled in a WebSocket:
/// to be relayed as they are, or served by PortForwardServer. Error: as accept_remote_command().
Task<std::unique_ptr<ByteStream>> accept_port_forward(EventLoop& loop, const HttpRequest& request, HttpResponder& responder);
/// Client: the same bytes from a server. Error: what it answered instead of 101.
Task<std::unique_ptr<ByteStream>> connect_port_forward(HttpClient& client, std::string target);

class PortForwardServer {
public:
    PortForwardServer(EventLoop& loop, std::unique_ptr<ByteStream> bytes)
        : session_(SpdySession::over(loop, std::move(bytes), SpdySession::Role::Server)) {}
    /// The next connection, once both its streams are there; nullopt when the session is over. Error: Cancelled.
    Task<std::optional<ForwardedConnection>> accept();

private:
    struct Half {
        std::string request_id;
        ForwardedConnection connection;
    };
    std::unique_ptr<SpdySession> session_;
    std::vector<Half> halves_;
};

class PortForwardClient {
public:
    PortForwardClient(EventLoop& loop, std::unique_ptr<ByteStream> bytes)
        : session_(SpdySession::over(loop, std::move(bytes), SpdySession::Role::Client)) {}
    Task<ForwardedConnection> open(std::uint16_t port);
    void close() { session_->close(); }

private:
    std::unique_ptr<SpdySession> session_;
    std::uint32_t next_request_ = 0;
};

}  // namespace porthole::net
