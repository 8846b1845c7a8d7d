#pragma once
#include "net/http/http.h"
#include "net/http/http_client.h"
#include "runtime/event_loop.h"

namespace porthole::net {

/// A whole message; text if not binary.
struct WebSocketMessage {
    std::string data;
    bool binary = true;
};

/// A WebSocket (RFC 6455) over any byte stream, which it owns. Pings are answered while it exists. Destroying it drops the connection.
class WebSocket {
public:
    enum class Role { Server, Client };
    static constexpr std::size_t LargestMessage = 4 << 20;  ///< bytes; a larger one ends the connection (code 1009)

    /// `protocol` is the negotiated one; protocol() returns it.
    static std::unique_ptr<WebSocket> over(EventLoop& loop, std::unique_ptr<ByteStream> stream, Role role, std::string protocol);
    virtual ~WebSocket() = default;

    virtual const std::string& protocol() const = 0;
    /// The next message, or nullopt if the peer has closed in order. Error: Unavailable.
    virtual Task<std::optional<WebSocketMessage>> receive() = 0;
    /// Waits while too much is queued. Error: Unavailable.
    virtual Task<> send(WebSocketMessage message) = 0;
    /// Sends a ping, without waiting for the answer.
    virtual void ping() = 0;
    /// Begins an orderly close; pending output is sent first. Returns immediately: the rest happens in the background until the peer has
    /// answered or two seconds have passed, even if this object is destroyed.
    virtual void close(std::uint16_t code, std::string_view reason) = 0;
};

bool is_websocket_request(const HttpRequest& request);
/// Answers the upgrade with the first protocol of the request that is in `protocols`. Error: BadRequest, with nothing sent, if the request
/// is not a valid handshake or offers none of them.
Task<std::unique_ptr<WebSocket>> accept_websocket(EventLoop& loop, const HttpRequest& request, HttpResponder& responder,
                                                  std::vector<std::string> protocols);

/// The bytes of a WebSocket's binary messages as one stream, for a protocol tunnelled in it.
std::unique_ptr<ByteStream> tunnel_stream(std::unique_ptr<WebSocket> socket);

/// The elements of a comma-separated header, of all its occurrences.
std::vector<std::string> header_words(const Headers& headers, std::string_view name);
/// Whether one of them is `word`, ignoring case.
bool header_has_word(const Headers& headers, std::string_view name, std::string_view word);

}  // namespace porthole::net
