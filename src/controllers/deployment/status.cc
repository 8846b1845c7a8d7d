#include "controllers/deployment/status.h"

#include <algorithm>

#include <fmt/format.h>

#include "controllers/deployment/rollout.h"
#include "objects/conditions.h"

namespace porthole::controllers::deployment {
namespace {

constexpr const char* CompleteReason = "NewReplicaSetAvailable";

bool has_progressed(const DeploymentStatus& before, const DeploymentStatus& after) {
    return after.updated_replicas > before.updated_replicas ||
           after.replicas - after.updated_replicas < before.replicas - before.updated_replicas ||
           after.ready_replicas > before.ready_replicas || after.available_replicas > before.available_replicas;
}

bool has_timed_out(const Deployment& deployment, const DeploymentCondition* progress, SystemTime now) {
    if (!progress || progress->reason == CompleteReason) return false;
    if (progress->reason == TimedOutReason) return true;
    return progress->last_update_time.to_system_time() + std::chrono::seconds(*deployment.spec.progress_deadline_seconds) < now;
}

void follow_progress(const Deployment& deployment, DeploymentStatus& status, const ReplicaSet* new_set, SystemTime now) {
    const DeploymentCondition* current = objects::find_condition(deployment.status.conditions, "Progressing");
    const bool was_complete = status.replicas == status.updated_replicas && current && current->reason == CompleteReason;
    if (!has_progress_deadline(deployment) || was_complete) return;
    const std::string subject =
        new_set ? fmt::format("ReplicaSet \"{}\"", new_set->metadata.name) : fmt::format("Deployment \"{}\"", deployment.metadata.name);
    if (is_complete(deployment, status)) {
        set_condition(status, make_condition("Progressing", "True", CompleteReason, subject + " has successfully progressed.", now));
    } else if (has_progressed(deployment.status, status)) {
        auto condition = make_condition("Progressing", "True", "ReplicaSetUpdated", subject + " is progressing.", now);
        if (current && current->status == "True") condition.last_transition_time = current->last_transition_time;
        remove_condition(status, "Progressing");  // the same reason again still tells of newer progress
        set_condition(status, std::move(condition));
    } else if (has_timed_out(deployment, current, now)) {
        set_condition(status, make_condition("Progressing", "False", TimedOutReason, subject + " has timed out progressing.", now));
    }
}

/// The failure of the new set, or else of any.
const api::apps::v1::ReplicaSetCondition* find_failure(const std::vector<ReplicaSet>& all, const ReplicaSet* new_set) {
    const auto of_set = [](const ReplicaSet& set) -> const api::apps::v1::ReplicaSetCondition* {
        for (const auto& condition : set.status.conditions)
            if (condition.type == "ReplicaFailure") return &condition;
        return nullptr;
    };
    if (new_set)
        if (const auto* failure = of_set(*new_set)) return failure;
    for (const ReplicaSet& set : all)
        if (const auto* failure = of_set(set)) return failure;
    return nullptr;
}

}  // namespace

// Unlike objects::set_condition(), as upstream: a message alone is no change, and what changes goes to the end of the list.
void set_condition(DeploymentStatus& status, DeploymentCondition condition) {
    if (const DeploymentCondition* present = objects::find_condition(status.conditions, condition.type)) {
        if (present->status == condition.status && present->reason == condition.reason) return;
        if (present->status == condition.status) condition.last_transition_time = present->last_transition_time;
        remove_condition(status, condition.type);
    }
    status.conditions.push_back(std::move(condition));
}

void remove_condition(DeploymentStatus& status, const std::string& type) {
    std::erase_if(status.conditions, [&](const DeploymentCondition& condition) { return condition.type == type; });
}

DeploymentCondition make_condition(std::string type, std::string status, std::string reason, std::string message, SystemTime now) {
    DeploymentCondition condition;
    condition.type = std::move(type);
    condition.status = std::move(status);
    condition.reason = std::move(reason);
    condition.message = std::move(message);
    condition.last_update_time = condition.last_transition_time = Timestamp(now);
    return condition;
}

bool has_progress_deadline(const Deployment& deployment) {
    return deployment.spec.progress_deadline_seconds.value_or(INT32_MAX) != INT32_MAX;
}

bool is_complete(const Deployment& deployment, const DeploymentStatus& status) {
    const std::int32_t wanted = replicas(deployment);
    return status.updated_replicas == wanted && status.replicas == wanted && status.available_replicas == wanted &&
           status.observed_generation >= deployment.metadata.generation;
}

DeploymentStatus count_status(const Deployment& deployment, const std::vector<ReplicaSet>& all, const ReplicaSet* new_set, SystemTime now) {
    DeploymentStatus status;
    status.conditions = deployment.status.conditions;
    status.collision_count = deployment.status.collision_count;
    status.observed_generation = deployment.metadata.generation;
    std::int32_t terminating = 0;
    for (const ReplicaSet& set : all) {
        status.replicas += set.status.replicas;
        status.ready_replicas += set.status.ready_replicas;
        terminating += set.status.terminating_replicas.value_or(0);
    }
    status.terminating_replicas = terminating;
    status.available_replicas = total_available(all);
    status.updated_replicas = new_set ? new_set->status.replicas : 0;
    status.unavailable_replicas = std::max(0, total_replicas(all) - status.available_replicas);
    const bool enough = status.available_replicas >= replicas(deployment) - rolling_update_limits(deployment).max_unavailable;
    set_condition(
        status,
        enough ? make_condition("Available", "True", "MinimumReplicasAvailable", "Deployment has minimum availability.", now)
               : make_condition("Available", "False", "MinimumReplicasUnavailable", "Deployment does not have minimum availability.", now));
    return status;
}

DeploymentStatus rollout_status(const Deployment& deployment, const std::vector<ReplicaSet>& all, const ReplicaSet* new_set,
                                SystemTime now) {
    DeploymentStatus status = count_status(deployment, all, new_set, now);
    if (!has_progress_deadline(deployment)) remove_condition(status, "Progressing");
    follow_progress(deployment, status, new_set, now);
    if (const auto* failure = find_failure(all, new_set)) {
        auto condition = make_condition("ReplicaFailure", failure->status, failure->reason, failure->message, now);
        condition.last_transition_time = failure->last_transition_time;
        set_condition(status, std::move(condition));
    } else {
        remove_condition(status, "ReplicaFailure");
    }
    return status;
}

std::optional<Duration> until_deadline(const Deployment& deployment, const DeploymentStatus& status, SystemTime now) {
    const DeploymentCondition* progress = objects::find_condition(status.conditions, "Progressing");
    if (!has_progress_deadline(deployment) || !progress || is_complete(deployment, status) || progress->reason == TimedOutReason)
        return std::nullopt;
    const SystemTime deadline =
        progress->last_update_time.to_system_time() + std::chrono::seconds(*deployment.spec.progress_deadline_seconds);
    return std::max<Duration>(deadline - now, Duration::zero()) + std::chrono::seconds(1);
}

}  // namespace porthole::controllers::deployment
