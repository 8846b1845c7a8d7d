#include "controllers/disruption/disruption.h"

#include <algorithm>
#include <map>
#include <set>

#include "api/autoscaling_v1.h"
#include "base/result.h"
#include "objects/conditions.h"
#include "objects/owners.h"
#include "objects/pods.h"
#include "objects/selectors.h"
#include "schema/json/json.h"

namespace porthole::controllers {

using api::apps::v1::Deployment;
using api::apps::v1::ReplicaSet;
using api::apps::v1::StatefulSet;
using api::core::v1::Pod;
using api::core::v1::ReplicationController;
using api::meta::v1::Condition;
using api::meta::v1::OwnerReference;
using api::policy::v1::PodDisruptionBudget;
using client::Requeue;

namespace {

/// How long an eviction that has been allowed is believed in, until the pod is seen to go.
constexpr Duration EvictionLife = std::chrono::minutes(2);

std::pair<std::string, std::int32_t> size(const auto& owner) { return {owner.metadata.uid, owner.spec.replicas.value_or(1)}; }

void set_allowed_condition(PodDisruptionBudget& budget, Condition wanted, SystemTime now) {
    wanted.type = "DisruptionAllowed";
    wanted.observed_generation = budget.metadata.generation;
    objects::set_condition(budget.status.conditions, std::move(wanted), Timestamp(now));
}

}  // namespace

DisruptionController::DisruptionController(Context& context)
    : Controller(context.loop, context.log, {.name = "disruption-controller"}),
      context_(context),
      events_(context.events.get("controllermanager")),
      budgets_(context.informers.get<Budget>()),
      pods_(context.informers.get<Pod>()),
      pods_by_label_(context.pods_by_label()),
      replica_sets_(context.informers.get<ReplicaSet>()),
      deployments_(context.informers.get<Deployment>()),
      stateful_sets_(context.informers.get<StatefulSet>()),
      replication_controllers_(context.informers.get<ReplicationController>()),
      names_(context.client, context.kinds) {
    reconcile_each(budgets_);
    depends_on(replica_sets_);
    depends_on(deployments_);
    depends_on(stateful_sets_);
    depends_on(replication_controllers_);
    const auto touched = [this](const Pod& pod) {
        for (const auto& budget : budgets_.list(pod.metadata.namespace_))
            if (objects::matches(budget->spec.selector, pod.metadata.labels)) queue().add(client::key_of(*budget));
    };
    depends_on(pods_).subscribe({.added = [touched](const auto& pod) { touched(*pod); },
                                 .updated =
                                     [touched](const auto& old, const auto& pod) {
                                         touched(*pod);
                                         if (old->metadata.labels != pod->metadata.labels) touched(*old);
                                     },
                                 .deleted = [touched](const auto& pod) { touched(*pod); }});
}

DisruptionController::Pods DisruptionController::pods_of(const Budget& budget) const {
    const std::string& space = budget.metadata.namespace_;
    const auto& selector = budget.spec.selector;
    const auto label = selector ? selector->match_labels.begin() : decltype(selector->match_labels.begin())();
    // One label is enough to find few pods by; the rest is compared.
    const bool has_label = selector && label != selector->match_labels.end();
    Pods pods = has_label ? pods_by_label_.find(label_key(space, label->first, label->second)) : pods_.list(space);
    std::erase_if(pods, [&](const auto& pod) { return !objects::matches(budget.spec.selector, pod->metadata.labels); });
    return pods;
}

Task<DisruptionController::Size> DisruptionController::size_of_owner(std::string namespace_, OwnerReference owner) {
    const client::NamespacedName key{namespace_, owner.name};
    const std::string group = group_of_api_version(owner.api_version);
    const auto is_same = [](const auto& object, const OwnerReference& reference) {
        return object && object->metadata.uid == reference.uid;
    };
    if (group == "apps" && owner.kind == "ReplicaSet") {
        const auto set = replica_sets_.find(key);
        if (!is_same(set, owner)) co_return Size();
        const OwnerReference* above = objects::find_controller(set->metadata);
        if (!above || above->kind != "Deployment") co_return Size(size(*set));
        const auto deployment = deployments_.find({namespace_, above->name});
        co_return Size(is_same(deployment, *above) ? size(*deployment) : size(*set));
    }
    if (group == "apps" && owner.kind == "StatefulSet") {
        const auto set = stateful_sets_.find(key);
        co_return is_same(set, owner) ? Size(size(*set)) : Size();
    }
    if (group.empty() && owner.kind == "ReplicationController") {
        const auto controller = replication_controllers_.find(key);
        co_return is_same(controller, owner) ? Size(size(*controller)) : Size();
    }
    co_return co_await size_by_scale(std::move(namespace_), std::move(owner));
}

Task<DisruptionController::Size> DisruptionController::size_by_scale(std::string namespace_, OwnerReference owner) {
    CO_TRY(const ResourceName resource, co_await names_.find(group_of_api_version(owner.api_version), owner.kind));
    const auto body = co_await context_.client.get_raw(resource.scale_path(namespace_, owner.name));
    if (is_not_found(body)) {
        CO_TRY(const bool has_scale, co_await names_.has_scale(resource));
        if (has_scale) co_return Size();
        co_return Error(Reason::BadRequest, resource.qualified() + " does not implement the scale subresource");
    }
    if (!body) co_return body.error();
    CO_TRY(const auto scale, schema::decode_json<api::autoscaling::v1::Scale>(**body));
    co_return scale.metadata.uid == owner.uid ? Size(std::pair(owner.uid, scale.spec.replicas)) : Size();
}

Task<std::int32_t> DisruptionController::wanted_by_owners(const Budget& budget, const Pods& pods) {
    std::map<std::string, std::int32_t> sizes;
    std::set<std::string_view> asked;
    bool unmanaged = false;
    for (const auto& pod : pods) {
        const OwnerReference* controller = objects::find_controller(pod->metadata);
        unmanaged |= !controller;
        if (!controller || !asked.insert(controller->uid).second) continue;
        CO_TRY(const Size size, co_await size_of_owner(pod->metadata.namespace_, *controller));
        if (size) sizes.insert(*size);
    }
    if (unmanaged)
        events_.warning(budget, "UnmanagedPods",
                        "Some pods that this budget selects have no controller, so the expected number of pods is unknown; "
                        "give .spec.minAvailable as a number");
    std::int32_t total = 0;
    for (const auto& [uid, wanted] : sizes) total += wanted;
    co_return total;
}

Task<DisruptionController::Expectation> DisruptionController::expectation(const Budget& budget, const Pods& pods) {
    if (budget.spec.min_available && !budget.spec.min_available->is_string())
        co_return Expectation{static_cast<std::int32_t>(pods.size()), budget.spec.min_available->as_int()};
    CO_TRY(const std::int32_t total, co_await wanted_by_owners(budget, pods));
    if (budget.spec.max_unavailable) {
        CO_TRY(const auto unavailable, budget.spec.max_unavailable->scaled(total, true));
        co_return Expectation{total, std::max(0, total - unavailable)};
    }
    if (!budget.spec.min_available) co_return Expectation{total, 0};
    CO_TRY(const auto available, budget.spec.min_available->scaled(total, true));
    co_return Expectation{total, available};
}

Task<Requeue> DisruptionController::reconcile(client::NamespacedName key) {
    const auto budget = budgets_.find(key);
    if (!budget) {
        written_.forget(key);
        co_return Requeue::never();
    }
    if (written_.is_stale(*budget)) co_return Requeue::in(std::chrono::seconds(1));
    const Pods pods = pods_of(*budget);
    const Result<Expectation> expected = co_await expectation(*budget, pods);
    if (is_cancelled(expected)) co_return expected.error();
    if (pods.empty()) events_.normal(*budget, "NoPods", "No matching pods found");

    const SystemTime now = loop().wall_now();
    PodDisruptionBudget changed = *budget;
    auto& status = changed.status;
    status.observed_generation = budget->metadata.generation;
    status.disrupted_pods.clear();
    status.current_healthy = 0;
    std::optional<Duration> next_expiry;
    for (const auto& pod : pods) {
        const auto evicted = budget->status.disrupted_pods.find(pod->metadata.name);
        if (objects::is_terminating(*pod)) continue;
        if (evicted != budget->status.disrupted_pods.end()) {
            const Duration left = evicted->second.to_system_time() + EvictionLife - now;
            if (left > Duration::zero()) {
                status.disrupted_pods.insert(*evicted);
                next_expiry = std::min(next_expiry.value_or(left), left);
                continue;
            }
            events_.warning(*pod, "NotDeleted", "Pod was expected by PDB " + key.text() + " to be deleted but it wasn't");
        }
        if (objects::is_ready(*pod)) ++status.current_healthy;
    }
    if (expected) {
        status.expected_pods = expected->pods;
        status.desired_healthy = expected->healthy;
        status.disruptions_allowed = expected->pods <= 0 ? 0 : std::max(0, status.current_healthy - expected->healthy);
        const bool some = status.disruptions_allowed > 0;
        set_allowed_condition(changed, {.status = some ? "True" : "False", .reason = some ? "SufficientPods" : "InsufficientPods"}, now);
    } else {
        events_.warning(*budget, "CalculateExpectedPodCountFailed",
                        "Failed to calculate the number of expected pods: " + expected.error().message);
        status.disruptions_allowed = 0;
        set_allowed_condition(changed, {.status = "False", .reason = "SyncFailed", .message = expected.error().message}, now);
    }
    if (changed.status != budget->status) {
        CO_TRY(const PodDisruptionBudget stored, co_await context_.client.update_status(std::move(changed)));
        written_.note(stored);
    }
    if (!expected) co_return expected.error();
    co_return next_expiry ? Requeue::in(*next_expiry) : Requeue::never();
}

Result<ControllerPtr> make_disruption(Context& context) { return make_controller<DisruptionController>(context); }

}  // namespace porthole::controllers
