#pragma once
#include <cstdint>
#include <set>
#include <string>

#include "base/log.h"
#include "client/client.h"
#include "runtime/sync.h"
#include "store/shared_store.h"

namespace porthole::apiserver {

/// Maintains the endpoints of the service "kubernetes" if several API servers share a store; upstream's reconciler of the type "lease",
/// with its keys, so that its servers and ours count each other.
///
/// Each server has a record /registry/masterleases/ADDRESS with a lease of 15 seconds, and keeps it alive. A server that sees a record
/// appear or disappear writes Endpoints and EndpointSlice. An empty list is never written; the old one stays. Lives on the store's loop;
/// see kubernetes: pkg/controlplane/reconcilers/lease.go.
class EndpointReconciler {
public:
    struct Seams {
        EventLoop& loop;
        store::SharedStore& store;
        client::Client& client;
        Logger log;
    };
    /// Of the server at `address`, with the port that all servers have.
    EndpointReconciler(Seams seams, std::string address, std::uint16_t port);

    /// Once, and then at every change and every five seconds, until cancelled.
    Task<> run();
    /// Removes this server from the endpoints before it ends. Called while requests are still answered. Errors: those of the store and the
    /// API.
    Task<> withdraw();

private:
    Task<> reconcile();
    Task<> announce();
    Task<> publish();
    std::set<std::string> living() const;

    const Seams seams_;
    const std::string key_, address_;
    const std::uint16_t port_;
    store::LeaseId lease_;  ///< of our record
    bool withdrawn_ = false;
    std::string problem_;
    Semaphore turn_{1};
};

}  // namespace porthole::apiserver
