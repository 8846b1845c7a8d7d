#include "controllers/stateful_set/stateful_set.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/result.h"
#include "controllers/framework/claim.h"
#include "controllers/framework/owner.h"
#include "controllers/framework/pod_control.h"
#include "controllers/framework/revisions.h"
#include "objects/pods.h"
#include "objects/selectors.h"

namespace porthole::controllers {

using api::apps::v1::ControllerRevision;
using api::apps::v1::StatefulSet;
using api::apps::v1::StatefulSetStatus;
using api::core::v1::PersistentVolumeClaim;
using api::core::v1::Pod;
using client::NamespacedName;
using client::Requeue;
using namespace stateful;
using namespace std::chrono_literals;

namespace {

constexpr const char* HashLabel = "controller.kubernetes.io/hash";
constexpr std::size_t LongestBaseName = 223;

/// Of a set that asks for more than there can be, the first million.
int wanted_replicas(const StatefulSet& set) {
    constexpr int LargestSet = 1'000'000;  // for each there is a pointer, and a look at each change
    return std::clamp(set.spec.replicas.value_or(1), 0, LargestSet);
}
bool is_rolling(const StatefulSet& set) { return set.spec.update_strategy.type != "OnDelete"; }
int partition_of(const StatefulSet& set) {
    const auto& rolling = set.spec.update_strategy.rolling_update;
    return rolling ? rolling->partition.value_or(0) : 0;
}

/// Pods below the partition stay with the old template, and so do those that a rolling update has not reached yet.
bool stays_behind(const StatefulSet& set, const StatefulSetStatus& status, int ordinal) {
    if (!is_rolling(set)) return false;
    const bool given = set.spec.update_strategy.rolling_update.has_value();
    return ordinal < first_ordinal(set) + (given ? partition_of(set) : status.current_replicas);
}

}  // namespace

StatefulSetController::StatefulSetController(Context& context)
    : Controller(context.loop, context.log, {.name = "statefulset-controller", .workers = 5}),
      context_(context),
      events_(context.events.get("statefulset-controller")),
      sets_(context.informers.get<StatefulSet>()),
      revisions_by_owner_(context.informers.get<ControllerRevision>()),
      pods_by_owner_(context.pods_by_owner()),
      claims_(context.client, events_, depends_on(context.informers.get<PersistentVolumeClaim>())) {
    reconcile_each(sets_);
    depends_on(context.informers.get<ControllerRevision>());
    depends_on(context.informers.get<Pod>()).on_change([this](const Pod& pod) { pod_changed(pod); });
}

void StatefulSetController::pod_changed(const Pod& pod) {
    for (const NamespacedName& key : concerned_owners(sets_, StatefulSet::kind(), pod.metadata)) queue().add(key);
}

bool StatefulSetController::is_available(const StatefulSet& set, const Pod& pod) const {
    return is_running_and_ready(pod) && objects::is_available(pod, std::chrono::seconds(set.spec.min_ready_seconds), loop().wall_now());
}

Task<Requeue> StatefulSetController::reconcile(NamespacedName key) {
    const auto set = sets_.find(key);
    if (!set) {
        written_.forget(key);
        co_return Requeue::never();
    }
    if (!set->spec.selector) co_return Requeue::never();
    if (written_.is_stale(*set)) co_return Requeue::in(1s);
    CO_TRY(const std::vector<PodPointer> pods, co_await claim_pods(*set));
    if (set->metadata.deletion_timestamp) {
        CO_TRY_VOID(co_await write_status(*set, count(*set, pods, set->status.current_revision, set->status.update_revision)));
        co_return Requeue::never();
    }
    CO_TRY(const Revisions revisions, co_await sync_revisions(*set));

    StatefulSetStatus status = count(*set, pods, revisions.current.metadata.name, revisions.update.metadata.name);
    status.collision_count = revisions.collision_count;
    const bool ordered = set->spec.pod_management_policy != "Parallel";
    Result<void> walked = co_await walk({*set, revisions, status, ordered}, place(*set, pods));
    if (is_cancelled(walked)) co_return std::move(walked).error();
    const bool complete = is_rolling(*set) && status.updated_replicas == status.replicas && status.ready_replicas == status.replicas &&
                          status.replicas == wanted_replicas(*set);
    if (complete) {
        status.current_replicas = status.updated_replicas;
        status.current_revision = status.update_revision;
    }
    CO_TRY_VOID(co_await write_status(*set, status));
    if (!walked) co_return std::move(walked).error();
    CO_TRY_VOID(co_await clean_history(*set, revisions, pods));
    const bool soon = status.available_replicas < status.ready_replicas;
    co_return soon ? Requeue::in(std::chrono::seconds(std::max(1, set->spec.min_ready_seconds))) : Requeue::never();
}

Task<> StatefulSetController::write_status(const StatefulSet& set, const StatefulSetStatus& status) {
    if (status == set.status) co_return {};
    StatefulSet changed = set;
    changed.status = status;
    CO_TRY(const StatefulSet stored, co_await context_.client.update_status(std::move(changed)));
    written_.note(stored);
    co_return {};
}

Task<StatefulSetController::Revisions> StatefulSetController::sync_revisions(const StatefulSet& set) {
    std::vector<ControllerRevision> stored;
    for (const auto& revision : revisions_by_owner_.dependents_of(set.metadata)) stored.push_back(*revision);
    RevisionHistory history(context_.client, owner_of(set), std::move(stored));
    Revisions revisions;
    revisions.collision_count = set.status.collision_count.value_or(0);
    for (;;) {
        const auto collisions = revisions.collision_count > 0 ? std::optional(revisions.collision_count) : std::nullopt;
        const std::string hash = template_hash(set.spec.template_, collisions);
        ControllerRevision wanted;
        wanted.metadata.name = set.metadata.name.substr(0, LongestBaseName) + "-" + hash;
        wanted.metadata.labels = set.spec.template_.metadata.labels;
        wanted.metadata.labels[HashLabel] = hash;
        wanted.metadata.annotations = set.metadata.annotations;
        wanted.data = template_data(set.spec.template_);
        Result<ControllerRevision> update = co_await history.ensure(std::move(wanted));
        if (!update && update.error().reason == Reason::AlreadyExists) {
            ++revisions.collision_count;
            continue;
        }
        if (!update) co_return std::move(update).error();
        revisions.update = std::move(*update);
        break;
    }
    const ControllerRevision* current = history.find(set.status.current_revision);
    revisions.current = current ? *current : revisions.update;
    co_return std::move(revisions);
}

Task<> StatefulSetController::clean_history(const StatefulSet& set, const Revisions& revisions, const std::vector<PodPointer>& pods) {
    std::set<std::string> live{revisions.current.metadata.name, revisions.update.metadata.name};
    for (const PodPointer& pod : pods) live.insert(revision_of(*pod));
    std::vector<ControllerRevision> stored;
    for (const auto& revision : revisions_by_owner_.dependents_of(set.metadata)) stored.push_back(*revision);
    RevisionHistory history(context_.client, owner_of(set), std::move(stored));
    co_return co_await history.truncate(static_cast<std::size_t>(std::max(0, set.spec.revision_history_limit.value_or(10))),
                                        [&](const ControllerRevision& revision) { return live.contains(revision.metadata.name); });
}

Task<std::vector<StatefulSetController::PodPointer>> StatefulSetController::claim_pods(const StatefulSet& set) {
    const auto selects = [&](const Pod& pod) {
        return objects::matches(set.spec.selector, pod.metadata.labels) && ordinal_of(set, pod.metadata.name);
    };
    return claim<Pod>(context_.client, owner_of(set), pods_by_owner_.candidates_of(set.metadata, set.spec.selector), selects);
}

StatefulSetController::Places StatefulSetController::place(const StatefulSet& set, const std::vector<PodPointer>& pods) const {
    Places places;
    places.replicas.resize(static_cast<std::size_t>(wanted_replicas(set)));
    const auto ordinal = [&](const PodPointer& pod) { return *ordinal_of(set, pod->metadata.name); };
    for (const PodPointer& pod : pods) {
        const int index = ordinal(pod) - first_ordinal(set);
        if (index >= 0 && index < wanted_replicas(set))
            places.replicas[static_cast<std::size_t>(index)] = pod;
        else
            places.condemned.push_back(pod);
    }
    std::ranges::sort(places.condemned, std::ranges::greater(), ordinal);
    const auto unavailable = [&](const PodPointer& pod) { return pod && (objects::is_terminating(*pod) || !is_available(set, *pod)); };
    for (const auto* group : {&places.replicas, &places.condemned})
        for (const PodPointer& pod : *group)
            if (unavailable(pod) && (!places.first_unavailable || ordinal(pod) < ordinal(places.first_unavailable)))
                places.first_unavailable = pod;
    return places;
}

StatefulSetStatus StatefulSetController::count(const StatefulSet& set, const std::vector<PodPointer>& pods,
                                               const std::string& current_revision, const std::string& update_revision) const {
    StatefulSetStatus status;
    status.conditions = set.status.conditions;
    status.collision_count = set.status.collision_count;
    status.observed_generation = set.metadata.generation;
    status.current_revision = current_revision;
    status.update_revision = update_revision;
    for (const PodPointer& pod : pods) {
        ++status.replicas;
        if (is_running_and_ready(*pod)) ++status.ready_replicas;
        if (is_available(set, *pod)) ++status.available_replicas;
        if (objects::is_terminating(*pod)) continue;
        if (revision_of(*pod) == status.current_revision) ++status.current_replicas;
        if (revision_of(*pod) == status.update_revision) ++status.updated_replicas;
    }
    return status;
}

Task<> StatefulSetController::walk(Walk walk, Places places) {
    for (std::size_t i = 0; i < places.replicas.size(); ++i) {
        CO_TRY(const bool stop, co_await visit_replica(walk, places.replicas[i], first_ordinal(walk.set) + static_cast<int>(i)));
        if (stop) co_return {};
    }
    for (const PodPointer& pod : places.condemned) {
        CO_TRY(const bool stop, co_await visit_condemned(walk, pod, places.first_unavailable));
        if (stop) co_return {};
    }
    if (is_rolling(walk.set)) CO_TRY_VOID(co_await update_from_the_end(walk, places.replicas));
    co_return {};
}

Task<bool> StatefulSetController::visit_replica(Walk walk, PodPointer pod, int ordinal) {
    if (!pod) {
        CO_TRY_VOID(co_await create(walk, ordinal));
        co_return walk.ordered;
    }
    if (objects::is_terminal(*pod)) {
        if (!objects::is_terminating(*pod)) CO_TRY_VOID(co_await remove(walk, pod));
        co_return walk.ordered;
    }
    if (pod->status.phase == "Pending" || pod->status.phase.empty()) CO_TRY_VOID(co_await claims_.ensure(walk.set, ordinal));
    CO_TRY_VOID(co_await claims_.set_owners(walk.set, *pod, false));
    if (!has_identity(*pod) && !objects::is_terminating(*pod)) CO_TRY_VOID(co_await restore_identity(walk, *pod, ordinal));
    co_return walk.ordered && (objects::is_terminating(*pod) || !is_available(walk.set, *pod));
}

Task<bool> StatefulSetController::visit_condemned(Walk walk, PodPointer pod, PodPointer first_unavailable) {
    if (objects::is_terminating(*pod)) co_return walk.ordered;
    // One that is not available may go only if no lower one is in trouble: the fewer moves the better then.
    if (walk.ordered && !is_available(walk.set, *pod) && pod != first_unavailable) co_return true;
    CO_TRY_VOID(co_await claims_.set_owners(walk.set, *pod, true));
    CO_TRY_VOID(co_await remove(walk, pod));
    co_return walk.ordered;
}

Task<> StatefulSetController::update_from_the_end(Walk walk, const std::vector<PodPointer>& replicas) {
    const int partition = partition_of(walk.set);
    for (int i = static_cast<int>(replicas.size()) - 1; i >= partition; --i) {
        const PodPointer& pod = replicas[static_cast<std::size_t>(i)];
        if (!pod) co_return {};  // made just now
        if (revision_of(*pod) != walk.revisions.update.metadata.name && !objects::is_terminating(*pod))
            co_return co_await remove(walk, pod);
        if (objects::is_terminating(*pod) || !is_available(walk.set, *pod)) co_return {};
    }
    co_return {};
}

Task<> StatefulSetController::restore_identity(Walk walk, Pod pod, int ordinal) {
    const std::string what = fmt::format("Update Pod {} in StatefulSet {} ", pod.metadata.name, walk.set.metadata.name);
    set_identity(pod, ordinal);
    const auto updated = co_await context_.client.update(std::move(pod));
    if (updated) {
        events_.normal(walk.set, "SuccessfulUpdate", what + "successful");
    } else if (!is_not_found(updated)) {
        if (!is_cancelled(updated)) events_.warning(walk.set, "FailedUpdate", what + "failed error: " + updated.error().message);
        co_return updated.error();
    }
    co_return {};
}

Task<> StatefulSetController::create(Walk walk, int ordinal) {
    if (claims_.belong_to_an_earlier_pod(walk.set, ordinal))
        co_return Error(Reason::Conflict, "claims of " + pod_name(walk.set, ordinal) + " are about to be deleted with an earlier pod");
    CO_TRY_VOID(co_await claims_.ensure(walk.set, ordinal));
    const bool behind = stays_behind(walk.set, walk.status, ordinal);
    const ControllerRevision& revision = behind ? walk.revisions.current : walk.revisions.update;
    CO_TRY(const auto pod_template, template_of(revision));
    const std::string what = fmt::format("Create Pod {} in StatefulSet {} ", pod_name(walk.set, ordinal), walk.set.metadata.name);
    const auto created = co_await context_.client.create(make_pod(walk.set, pod_template, revision.metadata.name, ordinal));
    if (!created) {
        const Error& error = created.error();
        // The cache lags behind our own write; or it is somebody else's, and then the next look at it says so.
        const bool told = is_cancelled(error) || is_namespace_terminating(error);
        if (error.reason == Reason::AlreadyExists) {
            const auto there = co_await context_.client.get<Pod>({walk.set.metadata.namespace_, pod_name(walk.set, ordinal)});
            if (there && objects::is_controlled_by(there->metadata, walk.set.metadata.uid)) co_return {};
        }
        if (!told) events_.warning(walk.set, "FailedCreate", what + "failed error: " + error.message);
        co_return error;
    }
    events_.normal(walk.set, "SuccessfulCreate", what + "successful");
    ++walk.status.replicas;
    if (revision.metadata.name == walk.status.current_revision) ++walk.status.current_replicas;
    if (revision.metadata.name == walk.status.update_revision) ++walk.status.updated_replicas;
    co_return {};
}

Task<> StatefulSetController::remove(Walk walk, PodPointer pod) {
    const std::string what = fmt::format("Delete Pod {} in StatefulSet {} ", pod->metadata.name, walk.set.metadata.name);
    const auto removed = co_await context_.client.remove<Pod>(client::key_of(*pod), {.uid = pod->metadata.uid});
    if (is_not_found(removed)) co_return {};
    if (!removed) {
        if (!is_cancelled(removed)) events_.warning(walk.set, "FailedDelete", what + "failed error: " + removed.error().message);
        co_return removed.error();
    }
    events_.normal(walk.set, "SuccessfulDelete", what + "successful");
    if (revision_of(*pod) == walk.status.current_revision) --walk.status.current_replicas;
    if (revision_of(*pod) == walk.status.update_revision) --walk.status.updated_replicas;
    co_return {};
}

Result<ControllerPtr> make_stateful_set(Context& context) { return make_controller<StatefulSetController>(context); }

}  // namespace porthole::controllers
