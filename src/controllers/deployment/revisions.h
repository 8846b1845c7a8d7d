#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/apps_v1.h"

namespace porthole::controllers::deployment {

using api::apps::v1::Deployment;
using api::apps::v1::ReplicaSet;

inline constexpr const char* HashLabel = "pod-template-hash";

/// Whether the set's template is the deployment's current one.
bool has_template_of(const ReplicaSet& set, const Deployment& deployment);
void sort_by_age(std::vector<ReplicaSet>& sets);  ///< oldest first
/// The position of the oldest set with the deployment's template.
std::optional<std::size_t> find_new_set(const std::vector<ReplicaSet>& sets_by_age, const Deployment& deployment);

/// One more than the latest revision among `old_sets`.
std::int64_t next_revision(const std::vector<ReplicaSet>& old_sets);
/// The set for the deployment's present template, without a size.
ReplicaSet make_new_set(const Deployment& deployment, std::int64_t revision);

/// The sets of `old_sets` that are beyond the history's limit and have no pods.
std::vector<ReplicaSet> beyond_history(const Deployment& deployment, std::vector<ReplicaSet> old_sets);

}  // namespace porthole::controllers::deployment
