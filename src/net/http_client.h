#pragma once
#include <memory>
#include <optional>

#include "net/endpoint.h"
#include "net/http.h"
#include "net/tls.h"

namespace porthole {
class AsioLoop;
}

namespace porthole::net {

/// The head of an answer and its body as it arrives.
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
class HttpClient {
public:
    HttpClient(AsioLoop& loop, Endpoint endpoint, std::shared_ptr<const TlsClientContext> tls);
    ~HttpClient();

    /// `path`, `query`, `headers` and `body` are taken from the request; host and content-length are added if missing.
    /// A request without effects (GET, HEAD, OPTIONS) that met a dead connection is sent once more.
    /// Error: Unavailable when the server cannot be reached (message says why), Unauthorized never: codes are data.
    Task<HttpResponse> send(HttpRequest request);
    Task<std::unique_ptr<HttpBody>> open(HttpRequest request);
    Task<Upgraded> upgrade(HttpRequest request);
    /// Drops all connections, with requests under way, and waits for their tasks. Without it they end by themselves at
    /// later turns of the loop.
    Task<> close();

private:
    struct Impl;
    std::shared_ptr<Impl> impl_;
};

/// A plain (or TLS) byte connection. Error: Unavailable.
Task<std::unique_ptr<ByteStream>> connect(AsioLoop& loop, Endpoint endpoint, std::shared_ptr<const TlsClientContext> tls = nullptr);

}  // namespace porthole::net
