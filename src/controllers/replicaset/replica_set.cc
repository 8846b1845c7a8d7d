#include "controllers/replicaset/replica_set.h"

#include "objects/owners.h"

namespace porthole::controllers {

ReplicaSetController::ReplicaSetController(Context& context)
    : ReplicaController(context, "replicaset-controller", "replicaset-controller", ReplicaSet::kind()),
      sets_(context.informers.get<ReplicaSet>()),
      siblings_(sets_),
      pods_(context.pods_by_owner()) {
    reconcile_each(sets_);
    watch_pods();
}

Task<> ReplicaSetController::write_status(ReplicaSet set) {
    CO_TRY_VOID(co_await context_.client.update_status(std::move(set)));
    co_return {};
}

std::vector<ReplicaController::PodPointer> ReplicaSetController::related_pods(const ReplicaSet& set) const {
    if (!objects::find_controller(set.metadata)) return pods_.dependents_of(set.metadata);
    std::vector<PodPointer> pods;
    for (const auto& sibling : siblings_.siblings_of(set.metadata))
        for (PodPointer& pod : pods_.dependents_of(sibling->metadata)) pods.push_back(std::move(pod));
    return pods;
}

Result<ControllerPtr> make_replica_set(Context& context) { return make_controller<ReplicaSetController>(context); }

}  // namespace porthole::controllers
