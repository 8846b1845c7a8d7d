#pragma once
#include <memory>
#include <string>

#include "client/kubeconfig.h"
#include "net/http/http_client.h"
#include "runtime/task.h"

namespace porthole {
class AsioLoop;
}

namespace porthole::apiserver {

/// Limits of one request to another server.
struct OutgoingLimits {
    Duration time = std::chrono::seconds(30);  ///< from the call until the whole answer is there
    std::size_t answer_bytes = 1 << 20;
};

/// One server that the administrator has named. Requests run side by side; none waits for another.
class OutgoingClient {
public:
    virtual ~OutgoingClient() = default;
    /// The whole answer. `request.path` is below the server's own path, and a header `host` replaces the server's name; with a bearer
    /// token, where the server's configuration has one. Redirects are answers like any other. Errors: Unavailable or Io if the server
    /// cannot be reached or breaks off; Timeout; RequestEntityTooLarge when the answer is longer than allowed; Cancelled. Never one for a
    /// status code.
    virtual Task<net::HttpResponse> send(net::HttpRequest request, OutgoingLimits limits) = 0;
    /// The answer as it arrives, without a time limit. Errors: as of HttpClient::open.
    virtual Task<std::unique_ptr<net::HttpBody>> open(net::HttpRequest request) = 0;
    /// For an upgrade request. Errors: as of HttpClient::upgrade.
    virtual Task<net::Upgraded> upgrade(net::HttpRequest request) = 0;
};

/// Creates the clients: over sockets, or simulated by tests. Outlives them. Used on the API server's loop.
class OutgoingClients {
public:
    virtual ~OutgoingClients() = default;
    /// Error: BadRequest for a server that is not a URL, and for certificates or keys that are not valid; Unavailable after close().
    virtual Result<std::unique_ptr<OutgoingClient>> open(const client::ClientConfig& server) = 0;
    /// Where the files are that configurations name.
    virtual FileSystem& files() = 0;
    /// Closes the connections, which ends the requests in progress. Nothing is sent or opened afterwards.
    virtual Task<> close() = 0;
};

/// By HTTP/2 or HTTP/1.1 over TLS. `loop` and `files` outlive it; close() it before it is destroyed.
std::unique_ptr<OutgoingClients> make_outgoing_clients(AsioLoop& loop, FileSystem& files);

/// The current context of the kubeconfig at `path`. Error: BadRequest, NotFound or Io, with the path.
Result<std::unique_ptr<OutgoingClient>> open_by_kubeconfig(OutgoingClients& clients, const std::string& path);

}  // namespace porthole::apiserver
