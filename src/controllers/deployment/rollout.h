#pragma once
#include <optional>
#include <vector>

#include "api/apps_v1.h"

namespace porthole::controllers::deployment {

using api::apps::v1::Deployment;
using api::apps::v1::ReplicaSet;

/// The arithmetic of a rollout, free of any API.

std::int32_t replicas(const Deployment& deployment);
std::int32_t replicas(const ReplicaSet& set);
bool is_rolling(const Deployment& deployment);

/// How many pods a rollout may have beyond spec.replicas, and how many may be unavailable. Percentages are of spec.replicas; surge rounds
/// up, unavailable rounds down. If both are 0, one pod may be unavailable, since otherwise no progress is possible.
struct RollingUpdateLimits {
    std::int32_t max_surge = 0, max_unavailable = 0;
};
RollingUpdateLimits rolling_update_limits(const Deployment& deployment);

std::int32_t total_replicas(const std::vector<ReplicaSet>& sets);
std::int32_t total_available(const std::vector<ReplicaSet>& sets);

/// The size that the new set should have now: as large as the surge allows, at most spec.replicas.
std::int32_t new_set_size(const Deployment& deployment, const std::vector<ReplicaSet>& all, std::int32_t current);

/// The sizes that old sets should shrink to in this step of a rolling update, in the order of `old_sets` (oldest first). Unhealthy
/// pods go first: they cost no availability.
std::vector<std::int32_t> shrunk_sizes(const Deployment& deployment, const std::vector<ReplicaSet>& old_sets, const ReplicaSet& new_set);

/// The sizes of `active` sets after spec.replicas has changed during a rollout: each keeps its share, in the order given by the caller; the
/// remainder goes to the first.
std::vector<std::int32_t> proportional_sizes(const Deployment& deployment, const std::vector<ReplicaSet>& active);
/// The order for it: larger first; of equals the newer first when growing, the older first when shrinking.
void sort_for_scaling(const Deployment& deployment, std::vector<ReplicaSet>& active);

}  // namespace porthole::controllers::deployment
