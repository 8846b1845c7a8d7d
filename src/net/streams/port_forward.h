#pragma once
#include "net/streams/spdy.h"
#include "net/streams/websocket.h"

namespace porthole::net {

/// One connection carried by port-forward: its bytes, and a stream that ends with an error text or is empty.
struct ForwardedConnection {
    std::uint16_t port = 0;
    std::unique_ptr<ByteStream> data, errors;
};

/// Server: answers the upgrade and returns the bytes of the SPDY session, whether it is the upgraded connection or tunnelled in a
/// WebSocket. They can be relayed unchanged, or served by PortForwardServer. Error: as accept_remote_command().
Task<std::unique_ptr<ByteStream>> accept_port_forward(EventLoop& loop, const HttpRequest& request, HttpResponder& responder);
/// Client: the same bytes from a server. Error: the server's answer other than 101.
Task<std::unique_ptr<ByteStream>> connect_port_forward(HttpClient& client, std::string target);

/// The server's end of a session, which it owns. The connections that it returns may outlive it, but fail then.
class PortForwardServer {
public:
    PortForwardServer(EventLoop& loop, std::unique_ptr<ByteStream> bytes)
        : session_(SpdySession::over(loop, std::move(bytes), SpdySession::Role::Server)) {}
    /// The next connection, once both its streams have been opened; nullopt if the session has ended. Error: Cancelled.
    Task<std::optional<ForwardedConnection>> accept();

private:
    struct Half {
        std::string request_id;
        ForwardedConnection connection;
    };
    std::unique_ptr<SpdySession> session_;
    std::vector<Half> halves_;
};

/// The client's end of a session, which it owns: opens one connection after another. Destroying it drops all its connections.
class PortForwardClient {
public:
    PortForwardClient(EventLoop& loop, std::unique_ptr<ByteStream> bytes)
        : session_(SpdySession::over(loop, std::move(bytes), SpdySession::Role::Client)) {}
    /// Error: Unavailable if the session has ended.
    Task<ForwardedConnection> open(std::uint16_t port);
    void close() { session_->close(); }

private:
    std::unique_ptr<SpdySession> session_;
    std::uint32_t next_request_ = 0;
};

// Port-forward in the channels of one WebSocket (v4.channel.k8s.io), as some client libraries use it. Each port that the request names has
// two channels, for its bytes and its error text, both of which begin with the port's number. A message cannot end one direction: a port
// ends when the pod has ended its answer, and the WebSocket is closed when all ports have.

/// Whether the request is for port channels, and not for the tunnel of accept_port_forward().
bool is_port_channels_request(const HttpRequest& request);

/// Answers the upgrade and carries each port of the query ("port", several by comma or repeated) through `far`, until all have ended or the
/// client has disconnected. Error: as accept_remote_command(), also BadRequest for invalid ports; nothing is sent before.
Task<> serve_port_channels(EventLoop& loop, const HttpRequest& request, HttpResponder& responder, PortForwardClient& far);

}  // namespace porthole::net
