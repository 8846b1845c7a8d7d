#include "controllers/replicaset/replication_controller.h"

namespace porthole::controllers {
namespace {

using api::apps::v1::ReplicaSet;
using api::apps::v1::ReplicaSetCondition;
using api::core::v1::ReplicationController;
using api::core::v1::ReplicationControllerCondition;

ReplicaSet to_replica_set(const ReplicationController& controller) {
    ReplicaSet set;
    set.metadata = controller.metadata;
    set.spec.replicas = controller.spec.replicas;
    set.spec.min_ready_seconds = controller.spec.min_ready_seconds;
    set.spec.selector.emplace().match_labels = controller.spec.selector;
    if (controller.spec.template_) set.spec.template_ = *controller.spec.template_;
    set.status.replicas = controller.status.replicas;
    set.status.fully_labeled_replicas = controller.status.fully_labeled_replicas;
    set.status.ready_replicas = controller.status.ready_replicas;
    set.status.available_replicas = controller.status.available_replicas;
    set.status.observed_generation = controller.status.observed_generation;
    for (const auto& condition : controller.status.conditions)
        set.status.conditions.push_back(
            {condition.type, condition.status, condition.last_transition_time, condition.reason, condition.message});
    return set;
}

void take_status(ReplicationController& controller, const ReplicaSet& set) {
    controller.metadata.resource_version = set.metadata.resource_version;
    controller.status.replicas = set.status.replicas;
    controller.status.fully_labeled_replicas = set.status.fully_labeled_replicas;
    controller.status.ready_replicas = set.status.ready_replicas;
    controller.status.available_replicas = set.status.available_replicas;
    controller.status.observed_generation = set.status.observed_generation;
    controller.status.conditions.clear();
    for (const auto& condition : set.status.conditions)
        controller.status.conditions.push_back(
            {condition.type, condition.status, condition.last_transition_time, condition.reason, condition.message});
}

}  // namespace

ReplicationControllerController::ReplicationControllerController(Context& context)
    : ReplicaController(context, "replicationcontroller-controller", "replication-controller", ReplicationController::kind()),
      controllers_(context.informers.get<ReplicationController>()) {
    reconcile_each(controllers_);
    watch_pods();
}

std::shared_ptr<const ReplicaSet> ReplicationControllerController::find(const client::NamespacedName& key) const {
    const auto controller = controllers_.find(key);
    return controller ? std::make_shared<const ReplicaSet>(to_replica_set(*controller)) : nullptr;
}

std::vector<std::shared_ptr<const ReplicaSet>> ReplicationControllerController::list(const std::string& namespace_) const {
    std::vector<std::shared_ptr<const ReplicaSet>> sets;
    for (const auto& controller : controllers_.list(namespace_))
        sets.push_back(std::make_shared<const ReplicaSet>(to_replica_set(*controller)));
    return sets;
}

Task<> ReplicationControllerController::write_status(ReplicaSet set) {
    const auto cached = controllers_.find(client::key_of(set));
    if (!cached || cached->metadata.uid != set.metadata.uid) co_return {};
    ReplicationController changed = *cached;
    take_status(changed, set);
    CO_TRY_VOID(co_await context_.client.update_status(std::move(changed)));
    co_return {};
}

Task<ReplicaSet> ReplicationControllerController::read(client::NamespacedName key) {
    CO_TRY(const ReplicationController controller, co_await context_.client.get<ReplicationController>(std::move(key)));
    co_return to_replica_set(controller);
}

Result<ControllerPtr> make_replication_controller(Context& context) { return make_controller<ReplicationControllerController>(context); }

}  // namespace porthole::controllers
