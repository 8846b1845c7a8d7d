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

/// What an upgrade was answered: a stream if and only if the code is 101.
struct Upgraded {
    HttpResponse response;
    std::unique_ptr<ByteStream> stream;
};

/// A client of one server. Requests share one HTTP/2 connection where the server offers it, else a small pool of
/// HTTP/1.1 connections; upgrades get a connection of their own. Connections are made when needed and remade when lost.
/// Used on `loop`, which must outlive it and its last tasks. Without `tls` it speaks plain HTTP/1.1. The server is reached through
/// `proxy`, if there is one.
class HttpClient {
public:
    HttpClient(AsioLoop& loop, Endpoint endpoint, std::shared_ptr<const TlsClientContext> tls, std::optional<Proxy> proxy = {});
    ~HttpClient();

    /// `path`, `query`, `headers` and `body` are taken from the request; host and content-length are added if missing.
    /// A request without effects (GET, HEAD, OPTIONS) that met a dead connection is sent once more, and so is any that the server has
    /// certainly not looked at. Errors: Unavailable when the server cannot be reached or the body breaks off (the message says why), Io
    /// when the head of its answer does, Cancelled. Never one for a status code: codes are data. Connecting has a time limit (10 s), and
    /// so has the answer to an upgrade (60 s; of a refusal, 64 KiB of its body are read).
    Task<HttpResponse> send(HttpRequest request);
    Task<std::unique_ptr<HttpBody>> open(HttpRequest request);
    Task<Upgraded> upgrade(HttpRequest request);
    /// Whether a request is in progress, or the body of its answer still there to be read.
    bool busy() const;
    /// Drops idle connections and those of HTTP/2 with their requests, and waits for their tasks. A request in progress over HTTP/1.1
    /// ends by itself, and later requests fail. Without close(), the destructor drops the same, and tasks end at later turns of the loop.
    Task<> close();

private:
    struct Impl;
    std::shared_ptr<Impl> impl_;
};

/// A plain (or TLS) byte connection. Error: Unavailable.
Task<std::unique_ptr<ByteStream>> connect(AsioLoop& loop, Endpoint endpoint, std::shared_ptr<const TlsClientContext> tls = nullptr);

}  // namespace porthole::net
