#pragma once
#include <cstdint>

#include "net/http/http.h"

namespace porthole::net {

/// The first lines of an HTTP/1.x message: of a request (method, target) or of a response (code).
struct Http1Head {
    std::string method, target;
    int code = 0;
    bool is_http10 = false;
    Headers headers;
    bool keep_alive = true;
    bool wants_continue = false;  ///< the client waits for "100 Continue" before it sends the body
};

/// Limits of one message.
struct Http1Limits {
    std::uint32_t header_limit = 64 << 10;  ///< bytes
    std::uint64_t body_limit = 3 << 20;     ///< bytes
};

/// Parses one message as its bytes arrive. Wraps Beast's parser.
class Http1Parser {
public:
    static std::unique_ptr<Http1Parser> for_request(const Http1Limits& limits);
    /// `no_body`: the answer to a HEAD request.
    static std::unique_ptr<Http1Parser> for_response(const Http1Limits& limits, bool no_body);

    virtual ~Http1Parser() = default;
    /// Parses a prefix of `bytes` and returns its length; stops once after the head. The rest must be passed again, followed by further
    /// bytes. Error: BadRequest; failure_code() has the HTTP code.
    virtual Result<std::size_t> feed(std::string_view bytes) = 0;
    /// Called when the connection has ended. Error: BadRequest if the message is not complete.
    virtual Result<void> feed_end() = 0;
    virtual bool head_done() const = 0;
    virtual bool done() const = 0;
    virtual int failure_code() const = 0;  ///< 400, 413, 431, 501, 505

    Http1Head head;
    std::string body;  ///< what has arrived; the owner may move it out piece by piece
};

/// "HTTP/1.1 200 OK" and the fields, with the empty line. Line breaks in values become spaces.
std::string http1_response_head(int code, const Headers& headers);
/// "GET /a HTTP/1.1" and the fields, with the empty line.
std::string http1_request_head(std::string_view method, std::string_view target, const Headers& headers);

}  // namespace porthole::net
