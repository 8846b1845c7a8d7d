#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "net/byte_stream.h"

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

/// Who a verified client certificate speaks for.
struct CertificateIdentity {
    std::string common_name;
    std::vector<std::string> organizations;
    std::string fingerprint;  ///< SHA-256 of the certificate, lower-case hex
};

struct Peer {
    std::string address;  ///< without port; "" for local sockets
    std::uint16_t port = 0;
    std::optional<CertificateIdentity> certificate;  ///< set only if it chains to the server's client CA
};

/// A connection that came in.
struct Accepted {
    std::unique_ptr<ByteStream> stream;
    Peer peer;
};

struct HttpRequest {
    std::string method;
    std::string path;   ///< as sent (still percent-encoded), without the query
    std::string query;  ///< as sent, without "?"
    Headers headers;
    std::string body;  ///< whole; a body over the server's limit is answered 413 before the handler sees it
    Peer peer;
    bool http2 = false;
};

struct HttpResponse {
    int code = 0;
    Headers headers;
    std::string body;
};

/// Where a handler writes its one answer: respond(), or start() write()… finish(), or upgrade().
class HttpResponder {
public:
    virtual ~HttpResponder() = default;
    /// The whole answer; content-length is added. The parts are sent in order without being joined first.
    virtual Task<> respond(int code, Headers headers, std::vector<Bytes> body) = 0;
    /// The head of a streamed answer; it reaches the peer before the first write.
    virtual Task<> start(int code, Headers headers) = 0;
    /// Sends and flushes; waits while the peer's window is closed. Error: Unavailable when the peer has gone.
    virtual Task<> write(Bytes chunk) = 0;
    virtual Task<> finish(Headers trailers = {}) = 0;
    /// Answers 101 with `headers` (HTTP/1.1 only, else BadRequest) and yields the connection.
    virtual Task<std::unique_ptr<ByteStream>> upgrade(Headers headers) = 0;
    /// True once an answer has begun: an error can then only end the stream.
    virtual bool started() const = 0;
};

class HttpHandler {
public:
    virtual ~HttpHandler() = default;
    /// Answers one request. The task is cancelled when the peer goes or the server closes.
    virtual Task<> handle(HttpRequest request, HttpResponder& responder) = 0;
};

std::string percent_decode(std::string_view text, bool plus_is_space = false);
/// The segments of a path, decoded: "/api//a%2Fb/" is "api" and "a/b".
std::vector<std::string> split_path(std::string_view path);
std::string percent_encode(std::string_view text);
/// The decoded pairs of a query string, in order.
std::vector<std::pair<std::string, std::string>> parse_query(std::string_view query);

}  // namespace porthole::net
