#pragma once
#include <cstdint>
#include <set>
#include <string>

#include "base/log.h"
#include "client/client.h"
#include "runtime/sync.h"
#include "store/shared_store.h"

namespace porthole::apiserver {

/// Keeps the service "kubernetes" leading to the API servers that live, where several share a store; upstream's reconciler of the type
/// "lease", with its keys, so that its servers and ours count each other.
///
/// Each server has a record /registry/masterleases/ADDRESS with a lease of 15 seconds, and keeps it alive. Who sees a record come or go
/// writes Endpoints and EndpointSlice. A list of none is not written: rather an old one. Lives on the store's loop; see kubernetes:
/// pkg/controlplane/reconcilers/lease.go.
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
    /// This server ends: no one is sent to it any more. To be called while requests are still answered. Errors: those of the store and
    /// the API.
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
