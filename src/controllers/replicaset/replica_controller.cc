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

PodIndex replicas_of(Context& context) {
    auto& index = context.indexes.replicas;
    if (!index) index = context.informers.get<api::core::v1::Pod>().add_index(replica_keys);
    return *index;
}

std::chrono::seconds min_ready(const api::apps::v1::ReplicaSet& set) { return std::chrono::seconds(set.spec.min_ready_seconds); }

}  // namespace

struct ReplicaController::Observed {
    int active = 0, terminating = 0, fully_labeled = 0, ready = 0, available = 0;
    std::optional<Duration> next_availability;  ///< of one that is ready
};

ReplicaController::ReplicaController(Context& context, std::string name, const std::string& component, const schema::Kind& kind)
    : Controller(context.loop, context.log, {.name = std::move(name), .workers = 5}),
      context_(context),
      kind_(kind),
      expectations_(context.loop),
      pod_control_(context.client, context.events.get(component)),
      pods_by_owner_(context.pods_by_owner()),
      replicas_(replicas_of(context)),
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
    pace_.looked(key, static_cast<std::size_t>(observed.active), loop().now());  // no pods were read
    std::optional<Error> failure;
    if (settled && !set->metadata.deletion_timestamp) {
        const int surplus = observed.active - set->spec.replicas.value_or(1);
        Result<void> moved;
        if (surplus < 0) moved = co_await create_missing(*set, std::min(-surplus, Burst));
        if (surplus > 0) moved = co_await delete_surplus(*set, std::min(surplus, Burst));
        if (!moved) failure = std::move(moved).error();
        if (failure && is_cancelled(*failure)) co_return std::move(*failure);
    }
    CO_TRY_VOID(co_await update_status(*set, make_status(*set, observed, failure)));
    if (failure) co_return std::move(*failure);
    co_return observed.next_availability ? Requeue::in(*observed.next_availability) : Requeue::never();
}

void ReplicaController::count(const ReplicaSet& set, const ReplicaFacts& facts, std::size_t pods, Observed& observed) const {
    const int number = static_cast<int>(pods);
    if (facts.life == ReplicaFacts::Life::Terminating) observed.terminating += number;
    if (facts.life != ReplicaFacts::Life::Active) return;
    observed.active += number;
    if (objects::contains_all(facts.labels, set.spec.template_.metadata.labels)) observed.fully_labeled += number;
    if (!facts.ready) return;
    observed.ready += number;
    const SystemTime since{std::chrono::seconds(facts.ready_since)};
    const Duration left = since + min_ready(set) - loop().wall_now();
    if (min_ready(set) <= std::chrono::seconds::zero() || (facts.ready_since != 0 && left <= Duration::zero()))
        observed.available += number;
    else if (facts.ready_since != 0 && (!observed.next_availability || left < *observed.next_availability))
        observed.next_availability = left;
}

/// Reads pods only if some are to be adopted or released.
Task<ReplicaController::Observed> ReplicaController::observe(const ReplicaSet& set) {
    const auto may_adopt = [&](const PodPointer& pod) {
        return objects::is_active(*pod) && objects::matches(set.spec.selector, pod->metadata.labels);
    };
    bool claims = std::ranges::any_of(pods_by_owner_.orphans_of(set.metadata, set.spec.selector), may_adopt);
    Observed observed;
    const std::string prefix = replica_key_prefix(set.metadata);
    for (const auto& [key, pods] : replicas_.counts(prefix)) {
        const auto facts = parse_replica_facts(std::string_view(key).substr(prefix.size()));
        if (!facts) co_return co_await observe_claimed(set);  // labels that no API server would have accepted
        claims |= facts->life == ReplicaFacts::Life::Active && !objects::matches(set.spec.selector, facts->labels);
        count(set, *facts, pods, observed);
    }
    if (!claims) co_return std::move(observed);
    co_return co_await observe_claimed(set);
}

Task<ReplicaController::Observed> ReplicaController::observe_claimed(const ReplicaSet& set) {
    Observed observed;
    std::vector<PodPointer> candidates;
    for (PodPointer& pod : pods_by_owner_.candidates_of(set.metadata, set.spec.selector)) {
        if (objects::is_active(*pod))
            candidates.push_back(std::move(pod));
        else if (objects::is_controlled_by(pod->metadata, set.metadata.uid))
            count(set, ReplicaFacts::of(*pod), 1, observed);
    }
    const auto selects = [&](const Pod& pod) { return objects::matches(set.spec.selector, pod.metadata.labels); };
    CO_TRY(const auto claimed, co_await claim<Pod>(context_.client, owner(set), std::move(candidates), selects));
    for (const PodPointer& pod : claimed) count(set, ReplicaFacts::of(*pod), 1, observed);
    co_return std::move(observed);
}

Task<> ReplicaController::create_missing(const ReplicaSet& set, int count) {
    return create_expected(expectations_, client::key_of(set), count, [this, &set](int) {
        return pod_control_.create(pod_from_template(set.spec.template_, owner(set)), owner(set));
    });
}

Task<> ReplicaController::delete_surplus(const ReplicaSet& set, int count) {
    std::map<std::string, int> on_node;
    for (const PodPointer& pod : related_pods(set))
        if (objects::is_active(*pod)) ++on_node[pod->spec.node_name];
    std::vector<RankedPod> ranked;
    for (const PodPointer& pod : pods_by_owner_.dependents_of(set.metadata))
        if (objects::is_active(*pod) && objects::matches(set.spec.selector, pod->metadata.labels))
            ranked.push_back({pod, on_node[pod->spec.node_name]});
    const auto victims = static_cast<std::size_t>(count);
    if (victims < ranked.size()) {
        rank_for_deletion(ranked, loop().wall_now());
        ranked.resize(victims);
    }

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
    status.replicas = observed.active;
    status.terminating_replicas = observed.terminating;
    status.fully_labeled_replicas = observed.fully_labeled;
    status.ready_replicas = observed.ready;
    status.available_replicas = observed.available;
    const auto condition = std::ranges::find(status.conditions, "ReplicaFailure", &ReplicaSetCondition::type);
    if (!failure && condition != status.conditions.end()) status.conditions.erase(condition);
    if (failure && condition == status.conditions.end()) {
        const bool too_few = status.replicas < set.spec.replicas.value_or(1);
        status.conditions.push_back({.type = "ReplicaFailure",
                                     .status = "True",
                                     .last_transition_time = Timestamp(loop().wall_now()),
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

}  // namespace porthole::controllers
