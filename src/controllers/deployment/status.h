#pragma once
#include <optional>
#include <string>
#include <vector>

#include "api/apps_v1.h"
#include "runtime/event_loop.h"

namespace porthole::controllers::deployment {

using api::apps::v1::Deployment;
using api::apps::v1::DeploymentCondition;
using api::apps::v1::DeploymentStatus;
using api::apps::v1::ReplicaSet;

inline constexpr const char* TimedOutReason = "ProgressDeadlineExceeded";

/// If status and reason are unchanged, nothing is written. If the status is unchanged, the transition time is kept.
void set_condition(DeploymentStatus& status, DeploymentCondition condition);
void remove_condition(DeploymentStatus& status, const std::string& type);
DeploymentCondition make_condition(std::string type, std::string status, std::string reason, std::string message, SystemTime now);

bool has_progress_deadline(const Deployment& deployment);
/// Whether all pods have the newest template and are available, and the controller has seen the newest spec.
bool is_complete(const Deployment& deployment, const DeploymentStatus& status);

/// Counts and the conditions that follow from them, but for progress.
DeploymentStatus count_status(const Deployment& deployment, const std::vector<ReplicaSet>& all, const ReplicaSet* new_set, SystemTime now);
/// The same with the rollout's progress: the condition Progressing, its deadline, and failures of replica sets.
DeploymentStatus rollout_status(const Deployment& deployment, const std::vector<ReplicaSet>& all, const ReplicaSet* new_set,
                                SystemTime now);

/// How long until the progress deadline has to be checked again; nullopt if there is none.
std::optional<Duration> until_deadline(const Deployment& deployment, const DeploymentStatus& status, SystemTime now);

}  // namespace porthole::controllers::deployment
