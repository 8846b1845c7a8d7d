#pragma once
#include <memory>
#include <optional>

#include "net/http/http.h"
#include "net/http/proxy.h"
#include "net/socket.h"
#include "net/tls/tls.h"

namespace porthole {
class AsioLoop;
}

namespace porthole::net {

/// The head of an answer and its body as it arrives. May outlive the client.
class HttpBody {
public:
    virtual ~HttpBody() = default;
    virtual int code() const = 0;
    virtual const Headers& headers() const = 0;
    /// The next piece, or nullopt at the end. Destroying the object drops the request.
    virtual Task<std::optional<std::string>> next() = 0;
};

/// The answer to an upgrade request; it has a stream if and only if the code is 101.
struct Upgraded {
    HttpResponse response;
    std::unique_ptr<ByteStream> stream;
};

/// A client of one server. Requests share one HTTP/2 connection if the server offers it, otherwise a small pool of HTTP/1.1 connections;
/// each upgrade has a connection of its own. Connections are opened when needed and reopened when lost. Used on `loop`, which must outlive
/// it and its last tasks. Without `tls` it uses plain HTTP/1.1. Connects through `proxy`, if there is one.
class HttpClient {
public:
    HttpClient(AsioLoop& loop, Endpoint endpoint, std::shared_ptr<const TlsClientContext> tls, std::optional<Proxy> proxy = {});
    ~HttpClient();

    /// Uses `path`, `query`, `headers` and `body` of the request; host and content-length are added if missing. A request is sent once more
    /// if it met a dead connection and has no effects (GET, HEAD, OPTIONS), or if the server certainly did not process it.
    ///
    /// Errors: Unavailable if the server cannot be reached or the body is cut off (the message says why), Io if the head of the answer is,
    /// Cancelled. A status code is never an error. Connecting is limited to 10 s, and the answer to an upgrade to 60 s; 64 KiB of a
    /// refusal's body are read.
    Task<HttpResponse> send(HttpRequest request);
    Task<std::unique_ptr<HttpBody>> open(HttpRequest request);
    Task<Upgraded> upgrade(HttpRequest request);
    /// Whether a request is in progress, or the body of its answer has not been read to the end.
    bool busy() const;
    /// Drops idle connections, and HTTP/2 connections with their requests, and waits for their tasks. A request in progress over HTTP/1.1
    /// runs to its end; later requests fail. Without close(), the destructor drops the same, and tasks end in later turns of the loop.
    Task<> close();

private:
    struct Impl;
    std::shared_ptr<Impl> impl_;
};

/// A plain (or TLS) byte connection. Error: Unavailable.
Task<std::unique_ptr<ByteStream>> connect(AsioLoop& loop, Endpoint endpoint, std::shared_ptr<const TlsClientContext> tls = nullptr);

}  // namespace porthole::net
