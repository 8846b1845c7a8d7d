#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "apiserver/bootstrap/bootstrap.h"
#include "apiserver/local_transport.h"
#include "apiserver/server.h"
#include "apiserver/subresources/connector.h"
#include "runtime/worker_pool.h"
#include "store/store.h"

namespace porthole::apiserver {

struct ApiServerOptions {
    BootstrapOptions bootstrap;
    std::vector<std::string> service_cidrs;
    std::uint16_t first_node_port = 30000, last_node_port = 32767;
    std::string service_account_key_pem;  ///< EC P-256 or RSA
    std::string issuer = "https://kubernetes.default.svc.cluster.local";
    std::string git_version = "v1.36.0";
    Server::Limits limits;
    Server::AuditSink audit;  ///< may be empty
    /// Appended to /metrics: what other components of this process count. Called on the API's loop; may be empty.
    std::function<Task<std::string>()> more_metrics;
};

/// The API as a whole: store, caches, who may do what, the rules of every kind, and the routes. Construction only; each part
/// is in the folder of its name.
class ApiServer {
public:
    struct Seams {
        EventLoop& loop;
        WorkerPool& pool;
        Random& random;
        Logger log;
        Connector* connector = nullptr;  ///< the way to kubelets and pods; null where there is none
    };
    /// Loads the store from `engine`. Errors: those of the engine; BadRequest for options that cannot be.
    static Result<std::unique_ptr<ApiServer>> open(Seams seams, std::unique_ptr<store::Engine> engine, ApiServerOptions options);
    ~ApiServer();

    /// Follows the store and makes what every cluster has; the server is ready when it ends.
    Task<> start();
    /// Ends what start() began and closes the store. Transports and listeners must be closed before.
    Task<> close();

    Server& server();
    store::Store& store();
    const schema::Registry& registry() const;
    /// The API for a component in this process.
    std::unique_ptr<LocalTransport> transport(User user, std::string agent);

private:
    struct Impl;
    explicit ApiServer(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace porthole::apiserver
