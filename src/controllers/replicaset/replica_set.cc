#include "controllers/replicaset/replica_set.h"

#include "objects/owners.h"

namespace porthole::controllers {

ReplicaSetController::ReplicaSetController(Context& context)
    : ReplicaController(context, "replicaset-controller", "replicaset-controller", ReplicaSet::kind()),
      sets_(context.informers.get<ReplicaSet>()),
      siblings_(index_by_owner(sets_)),
      pods_(context.pods_by_owner()) {
    reconcile_each(sets_);
    watch_pods();
}

Task<> ReplicaSetController::write_status(ReplicaSet set) {
    CO_TRY_VOID(co_await context_.client.update_status(std::move(set)));
    co_return {};
}

std::vector<ReplicaController::PodPointer> ReplicaSetController::related_pods(const ReplicaSet& set) const {
    if (!objects::find_controller(set.metadata)) return pods_.find(set.metadata.uid);
    std::vector<PodPointer> pods;
    for (const auto& sibling : siblings_.find(owner_key(set.metadata)))
        for (PodPointer& pod : pods_.find(sibling->metadata.uid)) pods.push_back(std::move(pod));
    return pods;
}

Result<ControllerPtr> make_replica_set(Context& context) { return make_controller<ReplicaSetController>(context); }

}  // namespace porthole::controllers
