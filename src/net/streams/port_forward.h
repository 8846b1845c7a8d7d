#pragma once
#include "net/streams/spdy.h"
#include "net/streams/websocket.h"

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

/// The server's end of a session. Owns it; the connections that it yields may outlive it, but fail then.
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

/// The client's end of a session: opens one connection after another. Owns it; destroying it drops all its connections.
class PortForwardClient {
public:
    PortForwardClient(EventLoop& loop, std::unique_ptr<ByteStream> bytes)
        : session_(SpdySession::over(loop, std::move(bytes), SpdySession::Role::Client)) {}
    /// Error: Unavailable when the session is over.
    Task<ForwardedConnection> open(std::uint16_t port);
    void close() { session_->close(); }

private:
    std::unique_ptr<SpdySession> session_;
    std::uint32_t next_request_ = 0;
};

// Port-forward in the channels of one WebSocket (v4.channel.k8s.io), as some client libraries speak it: two channels for each
// port that the request names, its bytes and its error text, each begun with the port's number. No message ends one direction
// only: a port is over when the pod has ended its answer, and the WebSocket is closed when all are.

/// Whether the request is for that, and not for the tunnel of accept_port_forward().
bool is_port_channels_request(const HttpRequest& request);

/// Answers the upgrade and carries each port of the query ("port", several by comma or repeated) through `far`, until all are
/// over or the client has left. Error: as accept_remote_command(); BadRequest also for wrong ports, with nothing sent yet.
Task<> serve_port_channels(EventLoop& loop, const HttpRequest& request, HttpResponder& responder, PortForwardClient& far);

}  // namespace porthole::net
