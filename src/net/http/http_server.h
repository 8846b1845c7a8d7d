#pragma once
#include <cstdint>
#include <memory>

#include "base/log.h"
#include "net/http/http.h"
#include "net/tls/tls.h"
#include "runtime/turns.h"

namespace porthole {
class AsioLoop;
}

namespace porthole::net {

/// Options of a server.
struct HttpServerOptions {
    std::shared_ptr<const TlsServerContext> tls;  ///< null: plain text (loopback and Unix sockets only)
    std::size_t body_limit = 3 << 20;             ///< bytes; 413 beyond
    std::size_t most_connections = 8192;          ///< at a time; more are closed at once
    Turns* turns = nullptr;                       ///< of the work for all requests; outlives the server. Null, or with a thread: its own
    bool own_thread = false;                      ///< accept, decrypt and frame on a separate thread instead of the handler's loop
};

/// HTTP/1.1 and HTTP/2 on one port, chosen by ALPN (or by the HTTP/2 preface on plain text). Calls `handler` on `loop`; both must outlive
/// it. Used on `loop`; close() it before destroying it.
class HttpServer {
public:
    HttpServer(AsioLoop& loop, HttpHandler& handler, HttpServerOptions options, Logger log);
    ~HttpServer();

    /// Returns the port. Port 0 picks a free one; may be called several times. Errors: as Listener::tcp().
    Result<std::uint16_t> listen(const std::string& address, std::uint16_t port);
    /// Errors: as Listener::local().
    Result<void> listen_unix(const std::string& path);
    /// Stops accepting, cancels all handlers, waits for them.
    Task<> close();

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace porthole::net
