#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "net/peer.h"

namespace porthole::net {

/// Header fields in order; names in lower case.
class Headers {
public:
    Headers() = default;
    Headers(std::initializer_list<std::pair<std::string, std::string>> fields) : fields_(fields) {}
    void add(std::string name, std::string value) { fields_.emplace_back(std::move(name), std::move(value)); }
    /// The first value of `name` (lower case), or "".
    std::string_view get(std::string_view name) const;
    std::vector<std::string_view> all(std::string_view name) const;
    bool has(std::string_view name) const;
    const std::vector<std::pair<std::string, std::string>>& fields() const { return fields_; }

private:
    std::vector<std::pair<std::string, std::string>> fields_;
};

/// A request, as a server received it or as a client will send it.
struct HttpRequest {
    std::string method;
    std::string path;   ///< as sent (still percent-encoded), without the query
    std::string query;  ///< as sent, without "?"
    Headers headers;
    std::string body;  ///< in a server: "", until the handler has called HttpResponder::read_body()
    Peer peer;
    bool http2 = false;
};

/// A whole response.
struct HttpResponse {
    int code = 0;
    Headers headers;
    std::string body;
};

/// Lets a handler read the body of its request and write its one answer: respond(), or start() write()… finish(), or upgrade(). Valid until
/// the handler's task ends. Every task may fail with Unavailable if the peer has disconnected.
class HttpResponder {
public:
    virtual ~HttpResponder() = default;
    /// The whole body; called once, before the answer. Until then only a small part is read from the peer, so a handler can decide by the
    /// head whether the sender may use memory. Answering without reading it closes the connection (HTTP/1) or resets the stream. Errors:
    /// RequestEntityTooLarge, TooManyRequests (HttpLimits), BadRequest, Unavailable.
    virtual Task<std::string> read_body() { co_return std::string(); }
    /// The whole body if it has arrived with the head; read_body() then returns nothing more. The connection keeps its memory until the
    /// answer begins.
    virtual std::optional<std::string> received_body() { return std::nullopt; }
    /// Whether the peer has read enough of earlier answers for another one; may be called on any thread. A handler whose answer may be
    /// large waits for it.
    virtual bool has_room() const { return true; }
    virtual Task<> room() { co_return {}; }
    /// An answer of so many bytes has been made on another thread, where has_room() counts it from now on.
    virtual void expect_answer(std::size_t) {}
    /// That answer has been passed to the connection, or will not be. Called on the connection's loop.
    virtual void expected_answer_came(std::size_t) {}
    /// The whole answer; content-length is added. The parts are sent in order, without being joined first.
    virtual Task<> respond(int code, Headers headers, std::vector<Bytes> body) = 0;
    /// The head of a streamed answer; it reaches the peer before the first write.
    virtual Task<> start(int code, Headers headers) = 0;
    /// Sends and flushes; waits while the peer's flow-control window is closed.
    virtual Task<> write(Bytes chunk) = 0;
    virtual Task<> finish(Headers trailers = {}) = 0;
    /// Answers 101 with `headers` (HTTP/1.1 only, otherwise BadRequest) and returns the connection, which the caller then owns.
    virtual Task<std::unique_ptr<ByteStream>> upgrade(Headers headers) = 0;
    /// True once an answer has begun: an error can then only abort the stream.
    virtual bool started() const = 0;
};

/// Answers the requests of a server; must outlive the server.
class HttpHandler {
public:
    virtual ~HttpHandler() = default;
    /// Answers one request, whose head has arrived, on the server's loop; many run concurrently. The task is cancelled when the peer
    /// disconnects or the server closes. An error before the answer has begun becomes a Status; after that it aborts the stream.
    virtual Task<> handle(HttpRequest request, HttpResponder& responder) = 0;
};

/// Invalid escapes are not changed.
std::string percent_decode(std::string_view text, bool plus_is_space = false);
/// The segments of a path, decoded: "/api//a%2Fb/" is "api" and "a/b".
std::vector<std::string> split_path(std::string_view path);
std::string percent_encode(std::string_view text);
/// The decoded pairs of a query string, in order.
std::vector<std::pair<std::string, std::string>> parse_query(std::string_view query);

}  // namespace porthole::net
