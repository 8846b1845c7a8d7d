#include "controllers/replicaset/replica_controller.h"

#include <algorithm>
#include <map>

#include "base/result.h"
#include "controllers/framework/batches.h"
#include "controllers/framework/claim.h"
#include "controllers/framework/owner.h"
#include "objects/conditions.h"
#include "objects/pods.h"
#include "objects/selectors.h"

namespace porthole::controllers {

using api::apps::v1::ReplicaSetCondition;
using client::NamespacedName;
using client::Requeue;

namespace {

constexpr int Burst = 500;  // creations or deletions in one reconcile

std::chrono::seconds min_ready(const api::apps::v1::ReplicaSet& set) { return std::chrono::seconds(set.spec.min_ready_seconds); }

}  // namespace

struct ReplicaController::Observed {
    std::vector<PodPointer> active;
    int terminating = 0;
};

ReplicaController::ReplicaController(Context& context, std::string name, const std::string& component, const schema::Kind& kind)
    : Controller(context.loop, context.log, {.name = std::move(name), .workers = 5}),
      context_(context),
      kind_(kind),
      expectations_(context.loop),
      pod_control_(context.client, context.events.get(component)),
      pods_by_owner_(context.pods_by_owner()),
      pace_(context.loop, TimePerPod) {}

void ReplicaController::watch_pods() {
    depends_on(context_.informers.get<Pod>())
        .subscribe({.added = [this](const PodPointer& pod) { pod_added(*pod); },
                    .updated = [this](const PodPointer& old, const PodPointer& now) { pod_updated(*old, *now); },
                    .deleted = [this](const PodPointer& pod) { pod_deleted(*pod); }});
}

std::shared_ptr<const ReplicaController::ReplicaSet> ReplicaController::owner_of_pod(const Pod& pod) const {
    return find_owner(*this, kind_, pod.metadata);
}

void ReplicaController::queue_matching(const Pod& orphan) {
    for (const NamespacedName& key : matching_owners(*this, orphan.metadata)) queue().add(key);
}

void ReplicaController::pod_added(const Pod& pod) {
    if (objects::is_terminating(pod)) return pod_deleted(pod);  // seen late, after a restart: it was never a creation to us
    if (const auto set = owner_of_pod(pod)) {
        expectations_.creation_observed(client::key_of(*set));
        queue().add(client::key_of(*set));
    } else if (!objects::find_controller(pod.metadata)) {
        queue_matching(pod);
    }
}

void ReplicaController::pod_updated(const Pod& old, const Pod& now) {
    if (objects::is_terminating(now)) return pod_deleted(now);
    const auto before = owner_of_pod(old), after = owner_of_pod(now);
    if (before && before != after) queue().add(client::key_of(*before));
    if (after) {
        queue().add(client::key_of(*after));
        const bool became_ready = !objects::is_ready(old) && objects::is_ready(now);
        // One more second, because the condition's time is cut to seconds.
        if (became_ready && after->spec.min_ready_seconds > 0)
            queue().add_after(client::key_of(*after), min_ready(*after) + std::chrono::seconds(1));
    } else if (!objects::find_controller(now.metadata) &&
               (old.metadata.labels != now.metadata.labels || objects::find_controller(old.metadata))) {
        queue_matching(now);
    }
}

void ReplicaController::pod_deleted(const Pod& pod) {
    const auto set = owner_of_pod(pod);
    if (!set) return;
    expectations_.deletion_observed(client::key_of(*set), pod.metadata.uid);
    queue().add(client::key_of(*set));
}

Task<Requeue> ReplicaController::reconcile(NamespacedName key) {
    const auto set = find(key);
    if (!set) {
        expectations_.forget(key);
        pace_.forget(key);
        co_return Requeue::never();
    }
    if (const Duration wait = pace_.wait(key); wait > Duration::zero()) co_return Requeue::in(wait);
    const bool settled = expectations_.satisfied(key);
    CO_TRY(const Observed observed, co_await observe(*set));
    pace_.looked(key, observed.active.size());
    std::optional<Error> failure;
    if (settled && !set->metadata.deletion_timestamp) {
        const int surplus = static_cast<int>(observed.active.size()) - set->spec.replicas.value_or(1);
        Result<void> moved;
        if (surplus < 0) moved = co_await create_missing(*set, std::min(-surplus, Burst));
        if (surplus > 0) moved = co_await delete_surplus(*set, observed.active, std::min(surplus, Burst));
        if (!moved) failure = std::move(moved).error();
        if (failure && is_cancelled(*failure)) co_return std::move(*failure);
    }
    CO_TRY_VOID(co_await update_status(*set, make_status(*set, observed, failure)));
    if (failure) co_return std::move(*failure);
    co_return next_availability(*set, observed);
}

Task<ReplicaController::Observed> ReplicaController::observe(const ReplicaSet& set) {
    Observed observed;
    std::vector<PodPointer> candidates;
    for (PodPointer& pod : pods_by_owner_.candidates_of(set.metadata, set.spec.selector)) {
        if (objects::is_active(*pod))
            candidates.push_back(std::move(pod));
        else if (objects::is_terminating(*pod) && !objects::is_terminal(*pod) && objects::is_controlled_by(pod->metadata, set.metadata.uid))
            ++observed.terminating;
    }
    const auto selects = [&](const Pod& pod) { return objects::matches(set.spec.selector, pod.metadata.labels); };
    CO_TRY(observed.active, co_await claim<Pod>(context_.client, owner(set), std::move(candidates), selects));
    co_return std::move(observed);
}

Task<> ReplicaController::create_missing(const ReplicaSet& set, int count) {
    return create_expected(expectations_, client::key_of(set), count, [this, &set](int) {
        return pod_control_.create(pod_from_template(set.spec.template_, owner(set)), owner(set));
    });
}

Task<> ReplicaController::delete_surplus(const ReplicaSet& set, const std::vector<PodPointer>& active, int count) {
    std::map<std::string, int> on_node;
    for (const PodPointer& pod : related_pods(set))
        if (objects::is_active(*pod)) ++on_node[pod->spec.node_name];
    std::vector<RankedPod> ranked;
    for (const PodPointer& pod : active) ranked.push_back({pod, on_node[pod->spec.node_name]});
    if (count < static_cast<int>(ranked.size())) rank_for_deletion(ranked, loop().wall_now());
    ranked.resize(static_cast<std::size_t>(count));

    std::vector<Task<>> deletions;
    for (const RankedPod& victim : ranked) {
        expectations_.expect_deletion(client::key_of(set), victim.pod->metadata.uid);
        deletions.push_back(delete_one(set, victim.pod));
    }
    co_return co_await perform_all(std::move(deletions));
}

Task<> ReplicaController::delete_one(const ReplicaSet& set, PodPointer pod) {
    Result<void> removed = co_await pod_control_.remove(client::key_of(*pod), pod->metadata.uid, owner(set));
    if (removed) co_return {};
    // Nothing will be seen of a deletion that has not happened.
    expectations_.deletion_observed(client::key_of(set), pod->metadata.uid);
    if (is_not_found(removed) || removed.error().reason == Reason::Conflict) co_return {};
    co_return removed;
}

std::vector<ReplicaController::PodPointer> ReplicaController::related_pods(const ReplicaSet& set) const {
    return pods_by_owner_.dependents_of(set.metadata);
}

ReplicaController::ReplicaSetStatus ReplicaController::make_status(const ReplicaSet& set, const Observed& observed,
                                                                   const std::optional<Error>& failure) const {
    ReplicaSetStatus status;
    status.conditions = set.status.conditions;
    status.observed_generation = set.metadata.generation;
    status.replicas = static_cast<std::int32_t>(observed.active.size());
    status.terminating_replicas = observed.terminating;
    const SystemTime now = loop().wall_now();
    for (const PodPointer& pod : observed.active) {
        if (objects::contains_all(pod->metadata.labels, set.spec.template_.metadata.labels)) ++status.fully_labeled_replicas;
        if (objects::is_ready(*pod)) ++status.ready_replicas;
        if (objects::is_available(*pod, min_ready(set), now)) ++status.available_replicas;
    }
    const auto condition = std::ranges::find(status.conditions, "ReplicaFailure", &ReplicaSetCondition::type);
    if (!failure && condition != status.conditions.end()) status.conditions.erase(condition);
    if (failure && condition == status.conditions.end()) {
        const bool too_few = status.replicas < set.spec.replicas.value_or(1);
        status.conditions.push_back({.type = "ReplicaFailure",
                                     .status = "True",
                                     .last_transition_time = Timestamp(now),
                                     .reason = too_few ? "FailedCreate" : "FailedDelete",
                                     .message = failure->message});
    }
    return status;
}

Task<> ReplicaController::update_status(const ReplicaSet& set, ReplicaSetStatus status) {
    if (set.status == status) co_return {};
    ReplicaSet changed = set;
    changed.status = status;
    Result<void> written = co_await write_status(std::move(changed));
    if (written || written.error().reason != Reason::Conflict) {
        if (is_not_found(written)) co_return {};
        co_return written;
    }
    CO_TRY(ReplicaSet fresh, co_await read(client::key_of(set)));
    if (fresh.metadata.uid != set.metadata.uid) co_return {};
    fresh.status = std::move(status);
    co_return co_await write_status(std::move(fresh));
}

Requeue ReplicaController::next_availability(const ReplicaSet& set, const Observed& observed) const {
    std::optional<Duration> next;
    for (const PodPointer& pod : observed.active) {
        if (!objects::is_ready(*pod) || objects::is_available(*pod, min_ready(set), loop().wall_now())) continue;
        const Timestamp since = objects::find_condition(pod->status.conditions, "Ready")->last_transition_time;
        const Duration wait = since.to_system_time() + min_ready(set) - loop().wall_now();
        if (!next || wait < *next) next = wait;
    }
    return next ? Requeue::in(*next) : Requeue::never();
}

}  // namespace porthole::controllers
