#pragma once
#include "api/admissionregistration_v1.h"
#include "base/log.h"
#include "client/client.h"
#include "runtime/worker_pool.h"
#include "schema/registry.h"
#include "store/store.h"

namespace porthole::apiserver {

/// Writes the status of ValidatingAdmissionPolicies: the type-checking errors of their expressions, as upstream's controller
/// validatingadmissionpolicy-status does. Lives on the store's loop; collaborators outlive it.
class PolicyStatus {
public:
    PolicyStatus(store::Store& store, const schema::Registry& registry, WorkerPool& pool, Logger log)
        : store_(store), registry_(registry), pool_(pool), log_(std::move(log)) {}

    /// Checks every policy now, and again when its spec has changed; until cancelled.
    Task<> follow(client::Client& client);

private:
    using Policy = api::admissionregistration::v1::ValidatingAdmissionPolicy;

    Task<> take_changes(store::Watch& watch, client::Client& client);
    Task<> settle(const store::RecordPtr record, client::Client& client);

    store::Store& store_;
    const schema::Registry& registry_;
    WorkerPool& pool_;
    Logger log_;
};

}  // namespace porthole::apiserver
