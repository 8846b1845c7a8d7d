#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "api/apps_v1.h"

namespace porthole::controllers::deployment {

using api::apps::v1::Deployment;
using api::apps::v1::ReplicaSet;

// This controller's annotations on its sets, as upstream's.
inline constexpr const char* RevisionAnnotation = "deployment.kubernetes.io/revision";
inline constexpr const char* HistoryAnnotation = "deployment.kubernetes.io/revision-history";
inline constexpr const char* DesiredAnnotation = "deployment.kubernetes.io/desired-replicas";
inline constexpr const char* MaxAnnotation = "deployment.kubernetes.io/max-replicas";

/// The annotation deployment.kubernetes.io/revision; 0 if there is none.
std::int64_t revision(const ReplicaSet& set);
std::optional<std::int32_t> desired_replicas_annotation(const ReplicaSet& set);
std::optional<std::int32_t> max_replicas_annotation(const ReplicaSet& set);
/// Records for which size of the deployment the set was scaled. True when something has changed.
bool set_replicas_annotations(ReplicaSet& set, std::int32_t desired, std::int32_t max);

/// Copies the deployment's annotations (except those of kubectl and of this controller) and sets the set's revision to `revision`, adding
/// the previous one to its history. True if anything has changed.
bool set_revision_annotations(const Deployment& deployment, ReplicaSet& set, std::int64_t revision);

}  // namespace porthole::controllers::deployment
