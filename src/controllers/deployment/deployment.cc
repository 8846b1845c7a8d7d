#include "controllers/deployment/deployment.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/result.h"
#include "controllers/deployment/annotations.h"
#include "controllers/deployment/revisions.h"
#include "controllers/deployment/rollout.h"
#include "controllers/deployment/status.h"
#include "controllers/framework/claim.h"
#include "controllers/framework/owner.h"
#include "controllers/framework/pod_control.h"
#include "objects/conditions.h"
#include "objects/pods.h"
#include "objects/selectors.h"
#include "schema/json/json.h"

namespace porthole::controllers {

using client::NamespacedName;
using client::Requeue;
using namespace deployment;

std::vector<DeploymentController::ReplicaSet> DeploymentController::Rollout::all() const {
    std::vector<ReplicaSet> sets = old_sets;
    if (new_set) sets.push_back(*new_set);
    return sets;
}

DeploymentController::DeploymentController(Context& context)
    : Controller(context.loop, context.log, {.name = "deployment-controller", .workers = 5, .max_retries = 15}),
      context_(context),
      events_(context.events.get("deployment-controller")),
      deployments_(context.informers.get<Deployment>()),
      sets_(context.informers.get<ReplicaSet>()),
      sets_by_owner_(sets_),
      pods_by_owner_(context.pods_by_owner()) {
    reconcile_each(deployments_);
    depends_on(sets_).subscribe({.added = [this](const auto& set) { set_changed(*set); },
                                 .updated =
                                     [this](const auto& old, const auto& now) {
                                         if (objects::find_controller(old->metadata)) set_changed(*old);
                                         set_changed(*now);
                                     },
                                 .deleted = [this](const auto& set) { set_changed(*set); }});
    depends_on(context.informers.get<Pod>()).subscribe({.added = {}, .updated = {}, .deleted = [this](const auto& pod) {
                                                            pod_deleted(*pod);
                                                        }});
}

std::shared_ptr<const DeploymentController::Deployment> DeploymentController::owner_of_set(const ReplicaSet& set) const {
    return find_owner(deployments_, Deployment::kind(), set.metadata);
}

void DeploymentController::set_changed(const ReplicaSet& set) {
    for (const NamespacedName& key : concerned_owners(deployments_, Deployment::kind(), set.metadata)) queue().add(key);
}

/// A recreation goes on when the last old pod has gone; nothing else about pods matters here.
void DeploymentController::pod_deleted(const Pod& pod) {
    const auto set = find_owner(sets_, ReplicaSet::kind(), pod.metadata);
    if (!set) return;
    const auto deployment = owner_of_set(*set);
    if (deployment && !is_rolling(*deployment)) queue().add(client::key_of(*deployment));
}

Task<Requeue> DeploymentController::reconcile(NamespacedName key) {
    const auto cached = deployments_.find(key);
    if (!cached) co_return Requeue::never();
    Rollout rollout{*cached, {}, {}};
    Deployment& deployment = rollout.deployment;
    if (!deployment.spec.selector || objects::selects_everything(*deployment.spec.selector)) {
        events_.warning(deployment, "SelectingAll", "This deployment is selecting all pods. A non-empty selector is required.");
        DeploymentStatus status = deployment.status;
        status.observed_generation = deployment.metadata.generation;
        CO_TRY_VOID(co_await write_status(deployment, std::move(status)));
        co_return Requeue::never();
    }
    CO_TRY(rollout.old_sets, co_await claim_sets(deployment));
    sort_by_age(rollout.old_sets);
    if (const auto position = find_new_set(rollout.old_sets, deployment)) {
        rollout.new_set = std::move(rollout.old_sets[*position]);
        rollout.old_sets.erase(rollout.old_sets.begin() + static_cast<std::ptrdiff_t>(*position));
    }
    if (deployment.metadata.deletion_timestamp) co_return co_await report(rollout);
    CO_TRY_VOID(co_await note_pause(deployment));
    if (deployment.spec.paused || is_scaling(rollout)) co_return co_await scale_and_report(rollout);
    if (is_rolling(deployment)) co_return co_await roll(rollout);
    co_return co_await recreate(rollout);
}

Task<std::vector<DeploymentController::ReplicaSet>> DeploymentController::claim_sets(const Deployment& deployment) {
    const auto selects = [&](const ReplicaSet& set) { return objects::matches(deployment.spec.selector, set.metadata.labels); };
    CO_TRY(const auto claimed,
           co_await claim<ReplicaSet>(context_.client, owner_of(deployment),
                                      sets_by_owner_.candidates_of(deployment.metadata, deployment.spec.selector), selects));
    std::vector<ReplicaSet> sets;
    for (const auto& set : claimed) sets.push_back(*set);
    co_return std::move(sets);
}

/// Pausing stops the clock of the progress deadline, and resuming starts it anew.
Task<> DeploymentController::note_pause(Deployment& deployment) {
    const DeploymentCondition* progress = objects::find_condition(deployment.status.conditions, "Progressing");
    if (!has_progress_deadline(deployment) || (progress && progress->reason == TimedOutReason)) co_return {};
    const bool noted = progress && progress->reason == "DeploymentPaused";
    if (deployment.spec.paused == noted) co_return {};
    DeploymentStatus status = deployment.status;
    const SystemTime now = loop().wall_now();
    set_condition(status, deployment.spec.paused
                              ? make_condition("Progressing", "Unknown", "DeploymentPaused", "Deployment is paused", now)
                              : make_condition("Progressing", "Unknown", "DeploymentResumed", "Deployment is resumed", now));
    co_return co_await write_status(deployment, std::move(status));
}

bool DeploymentController::is_scaling(const Rollout& rollout) const {
    return std::ranges::any_of(rollout.all(), [&](const ReplicaSet& set) {
        const auto desired = desired_replicas_annotation(set);
        return replicas(set) > 0 && desired && *desired != replicas(rollout.deployment);
    });
}

Task<Requeue> DeploymentController::roll(Rollout& rollout) {
    CO_TRY_VOID(co_await sync_new_set(rollout, true));
    ReplicaSet& new_set = *rollout.new_set;
    const std::int32_t size = new_set_size(rollout.deployment, rollout.all(), replicas(new_set));
    CO_TRY(const bool grown, co_await scale(rollout, new_set, size));
    if (grown) co_return co_await report(rollout);

    const auto sizes = shrunk_sizes(rollout.deployment, rollout.old_sets, new_set);
    bool shrunk = false;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        if (replicas(rollout.old_sets[i]) == 0) continue;
        CO_TRY(const bool changed, co_await scale(rollout, rollout.old_sets[i], sizes[i]));
        shrunk |= changed;
    }
    if (!shrunk && is_complete(rollout.deployment, rollout.deployment.status)) {
        CO_TRY_VOID(co_await clean_history(rollout));
    }
    co_return co_await report(rollout);
}

Task<Requeue> DeploymentController::recreate(Rollout& rollout) {
    CO_TRY_VOID(co_await sync_new_set(rollout, false));
    bool shrunk = false;
    for (ReplicaSet& set : rollout.old_sets) {
        if (replicas(set) == 0) continue;
        CO_TRY(const bool changed, co_await scale(rollout, set, 0));
        shrunk |= changed;
    }
    if (shrunk || old_pods_run(rollout)) co_return co_await report(rollout);
    if (!rollout.new_set) {
        CO_TRY_VOID(co_await sync_new_set(rollout, true));
    }
    CO_TRY_VOID(co_await scale(rollout, *rollout.new_set, replicas(rollout.deployment)));
    if (is_complete(rollout.deployment, rollout.deployment.status)) {
        CO_TRY_VOID(co_await clean_history(rollout));
    }
    co_return co_await report(rollout);
}

bool DeploymentController::old_pods_run(const Rollout& rollout) const {
    return std::ranges::any_of(rollout.old_sets, [&](const ReplicaSet& set) {
        return std::ranges::any_of(pods_by_owner_.dependents_of(set.metadata), [](const auto& pod) { return !objects::is_terminal(*pod); });
    });
}

Task<Requeue> DeploymentController::scale_and_report(Rollout& rollout) {
    CO_TRY_VOID(co_await sync_new_set(rollout, false));
    CO_TRY_VOID(co_await scale_all(rollout));
    if (rollout.deployment.spec.paused) {
        CO_TRY_VOID(co_await clean_history(rollout));
    }
    const DeploymentStatus status = count_status(rollout.deployment, rollout.all(), rollout.newest(), loop().wall_now());
    CO_TRY_VOID(co_await write_status(rollout.deployment, status));
    co_return Requeue::never();
}

/// Brings the sets to the deployment's size without moving the rollout on.
Task<> DeploymentController::scale_all(Rollout& rollout) {
    std::vector<ReplicaSet*> all;
    for (ReplicaSet& set : rollout.old_sets) all.push_back(&set);
    if (rollout.new_set) all.push_back(&*rollout.new_set);
    std::vector<ReplicaSet*> active = all;
    std::erase_if(active, [](const ReplicaSet* set) { return replicas(*set) == 0; });
    const std::int32_t wanted = replicas(rollout.deployment);

    if (active.size() <= 1) {
        if (all.empty()) co_return {};
        ReplicaSet& only = active.empty() ? *all.back() : *active[0];
        CO_TRY_VOID(co_await scale(rollout, only, wanted));
        co_return {};
    }
    const ReplicaSet* new_set = rollout.newest();
    const bool saturated = new_set && replicas(*new_set) == wanted && desired_replicas_annotation(*new_set) == wanted &&
                           new_set->status.available_replicas == wanted;
    if (saturated) {
        for (ReplicaSet* set : active)
            if (set != new_set) {
                CO_TRY_VOID(co_await scale(rollout, *set, 0));
            }
        co_return {};
    }
    if (!is_rolling(rollout.deployment)) co_return {};
    std::vector<ReplicaSet> sorted;
    for (const ReplicaSet* set : active) sorted.push_back(*set);
    sort_for_scaling(rollout.deployment, sorted);
    const auto sizes = proportional_sizes(rollout.deployment, sorted);
    for (std::size_t i = 0; i < sorted.size(); ++i) {
        ReplicaSet& set = **std::ranges::find(active, sorted[i].metadata.uid, [](const ReplicaSet* set) { return set->metadata.uid; });
        CO_TRY_VOID(co_await scale(rollout, set, sizes[i]));
    }
    co_return {};
}

Task<> DeploymentController::sync_new_set(Rollout& rollout, bool create) {
    if (!rollout.new_set) {
        if (!create) co_return {};
        co_return co_await create_new_set(rollout);
    }
    const Deployment& deployment = rollout.deployment;
    ReplicaSet changed = *rollout.new_set;
    bool differs = set_revision_annotations(deployment, changed, next_revision(rollout.old_sets));
    differs |= std::exchange(changed.spec.min_ready_seconds, deployment.spec.min_ready_seconds) != deployment.spec.min_ready_seconds;
    if (differs) {
        CO_TRY(rollout.new_set, co_await context_.client.update(std::move(changed)));
    }
    co_return co_await note_new_set(rollout, "FoundNewReplicaSet", "Found new replica set");
}

Task<> DeploymentController::create_new_set(Rollout& rollout) {
    Deployment& deployment = rollout.deployment;
    ReplicaSet wanted = make_new_set(deployment, next_revision(rollout.old_sets));
    const std::int32_t size = new_set_size(deployment, rollout.all(), 0);
    wanted.spec.replicas = size;
    set_replicas_annotations(wanted, replicas(deployment), replicas(deployment) + rolling_update_limits(deployment).max_surge);
    Result<ReplicaSet> created = co_await context_.client.create(wanted);
    if (created) {
        rollout.new_set = std::move(*created);
        if (size > 0)
            events_.normal(deployment, "ScalingReplicaSet",
                           fmt::format("Scaled up replica set {} from 0 to {}", wanted.metadata.name, size));
        co_return co_await note_new_set(rollout, "NewReplicaSetCreated", "Created new replica set");
    }
    const Error error = created.error();
    if (error.reason == Reason::AlreadyExists) co_return co_await resolve_collision(rollout, std::move(wanted));
    if (is_cancelled(error) || is_namespace_terminating(error)) co_return error;
    const std::string message = fmt::format("Failed to create new replica set \"{}\": {}", wanted.metadata.name, error.message);
    if (has_progress_deadline(deployment)) {
        DeploymentStatus status = deployment.status;
        set_condition(status, make_condition("Progressing", "False", "ReplicaSetCreateError", message, loop().wall_now()));
        CO_TRY_VOID(co_await write_status(deployment, std::move(status)));
    }
    events_.warning(deployment, "ReplicaSetCreateError", message);
    co_return error;
}

/// Either our cache has not seen our own set yet, or another template has the same hash.
Task<> DeploymentController::resolve_collision(Rollout& rollout, ReplicaSet wanted) {
    Deployment& deployment = rollout.deployment;
    CO_TRY(ReplicaSet there, co_await context_.client.get<ReplicaSet>(client::key_of(wanted)));
    if (objects::is_controlled_by(there.metadata, deployment.metadata.uid) && has_template_of(there, deployment)) {
        rollout.new_set = std::move(there);
        co_return co_await note_new_set(rollout, "FoundNewReplicaSet", "Found new replica set");
    }
    // A stale cache must not count the same collision twice: the write is guarded by the deployment's version.
    DeploymentStatus status = deployment.status;
    status.collision_count = status.collision_count.value_or(0) + 1;
    CO_TRY_VOID(co_await write_status(deployment, std::move(status)));
    co_return Error(Reason::AlreadyExists,
                    "replica set " + wanted.metadata.name + " exists with another template; the next name will differ");
}

/// Copies the set's revision to the deployment and notes that there is a set to make progress with. By the status' endpoint: through the
/// main one, a changed annotation would count as another generation.
Task<> DeploymentController::note_new_set(Rollout& rollout, const char* reason, const char* message_start) {
    Deployment& deployment = rollout.deployment;
    const auto& annotations = rollout.new_set->metadata.annotations;
    const auto found = annotations.find(RevisionAnnotation);
    const auto own = deployment.metadata.annotations.find(RevisionAnnotation);
    Deployment changed = deployment;
    if (found != annotations.end() && (own == deployment.metadata.annotations.end() || own->second != found->second))
        changed.metadata.annotations[RevisionAnnotation] = found->second;
    const bool created = std::string_view(reason) == "NewReplicaSetCreated";
    const DeploymentCondition* progress = objects::find_condition(deployment.status.conditions, "Progressing");
    if (has_progress_deadline(deployment) && (!progress || created))
        set_condition(changed.status,
                      make_condition("Progressing", "True", reason, fmt::format("{} \"{}\"", message_start, rollout.new_set->metadata.name),
                                     loop().wall_now()));
    if (changed != deployment) {
        CO_TRY(deployment, co_await context_.client.update_status(std::move(changed)));
    }
    co_return {};
}

/// True when the size has changed.
Task<bool> DeploymentController::scale(Rollout& rollout, ReplicaSet& set, std::int32_t size) {
    const Deployment& deployment = rollout.deployment;
    ReplicaSet changed = set;
    const std::int32_t before = replicas(set);
    changed.spec.replicas = size;
    const bool noted =
        set_replicas_annotations(changed, replicas(deployment), replicas(deployment) + rolling_update_limits(deployment).max_surge);
    if (before == size && !noted) co_return false;
    CO_TRY(set, co_await context_.client.update(std::move(changed)));
    if (before == size) co_return false;
    events_.normal(deployment, "ScalingReplicaSet",
                   fmt::format("Scaled {} replica set {} from {} to {}", before < size ? "up" : "down", set.metadata.name, before, size));
    co_return true;
}

Task<> DeploymentController::clean_history(const Rollout& rollout) {
    for (const ReplicaSet& set : beyond_history(rollout.deployment, rollout.old_sets)) {
        CO_TRY_VOID(ignore_not_found(co_await context_.client.remove<ReplicaSet>(client::key_of(set), {.uid = set.metadata.uid})));
    }
    co_return {};
}

Task<Requeue> DeploymentController::report(Rollout& rollout) {
    const SystemTime now = loop().wall_now();
    const bool deleting = rollout.deployment.metadata.deletion_timestamp.has_value();
    const DeploymentStatus status = deleting ? count_status(rollout.deployment, rollout.all(), rollout.newest(), now)
                                             : rollout_status(rollout.deployment, rollout.all(), rollout.newest(), now);
    CO_TRY_VOID(co_await write_status(rollout.deployment, status));
    const auto wait = until_deadline(rollout.deployment, status, now);
    co_return wait && !deleting ? Requeue::in(*wait) : Requeue::never();
}

Task<> DeploymentController::write_status(Deployment& deployment, DeploymentStatus status) {
    if (deployment.status == status) co_return {};
    Deployment changed = deployment;
    changed.status = std::move(status);
    CO_TRY(deployment, co_await context_.client.update_status(std::move(changed)));
    co_return {};
}

Result<ControllerPtr> make_deployment(Context& context) { return make_controller<DeploymentController>(context); }

}  // namespace porthole::controllers
