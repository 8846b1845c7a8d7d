#include "controllers/deployment/rollout.h"

#include <algorithm>
#include <cmath>

#include "controllers/deployment/revisions.h"

namespace porthole::controllers::deployment {
namespace {

std::int32_t scaled(const std::optional<IntOrString>& amount, std::int32_t total, bool round_up) {
    return amount.value_or("25%").scaled(total, round_up).value_or(0);
}

/// How much `set` should grow (or shrink, when negative) for its share of the new size.
std::int32_t share(const ReplicaSet& set, const Deployment& deployment) {
    if (replicas(deployment) == 0) return -replicas(set);
    std::int32_t before = max_replicas_annotation(set).value_or(0);
    if (before == 0) before = deployment.status.replicas;
    if (before == 0) return 0;
    const double size = static_cast<double>(replicas(set)) * (replicas(deployment) + rolling_update_limits(deployment).max_surge) / before;
    return static_cast<std::int32_t>(std::lround(size)) - replicas(set);
}

/// A set that has just been shrunk may still report pods that are about to go.
std::int32_t lasting_available(const ReplicaSet& set) { return std::min(set.status.available_replicas, replicas(set)); }

std::int32_t to_add(const Deployment& deployment, const std::vector<ReplicaSet>& active) {
    const std::int32_t allowed = replicas(deployment) > 0 ? replicas(deployment) + rolling_update_limits(deployment).max_surge : 0;
    return allowed - total_replicas(active);
}

}  // namespace

std::int32_t replicas(const Deployment& deployment) { return deployment.spec.replicas.value_or(1); }
std::int32_t replicas(const ReplicaSet& set) { return set.spec.replicas.value_or(1); }
bool is_rolling(const Deployment& deployment) { return deployment.spec.strategy.type != "Recreate"; }

RollingUpdateLimits rolling_update_limits(const Deployment& deployment) {
    if (!is_rolling(deployment)) return {};
    const auto update = deployment.spec.strategy.rolling_update.value_or(api::apps::v1::RollingUpdateDeployment());
    const std::int32_t wanted = replicas(deployment);
    RollingUpdateLimits limits{scaled(update.max_surge, wanted, true), scaled(update.max_unavailable, wanted, false)};
    if (limits.max_surge == 0 && limits.max_unavailable == 0) limits.max_unavailable = 1;
    limits.max_unavailable = std::min(limits.max_unavailable, wanted);
    return limits;
}

std::int32_t total_replicas(const std::vector<ReplicaSet>& sets) {
    std::int32_t total = 0;
    for (const ReplicaSet& set : sets) total += replicas(set);
    return total;
}

std::int32_t total_available(const std::vector<ReplicaSet>& sets) {
    std::int32_t total = 0;
    for (const ReplicaSet& set : sets) total += set.status.available_replicas;
    return total;
}

std::int32_t new_set_size(const Deployment& deployment, const std::vector<ReplicaSet>& all, std::int32_t current) {
    if (!is_rolling(deployment) || current > replicas(deployment)) return replicas(deployment);
    const std::int32_t room = replicas(deployment) + rolling_update_limits(deployment).max_surge - total_replicas(all);
    if (room <= 0) return current;
    return current + std::min(room, replicas(deployment) - current);
}

std::vector<std::int32_t> shrunk_sizes(const Deployment& deployment, const std::vector<ReplicaSet>& old_sets, const ReplicaSet& new_set) {
    std::vector<std::int32_t> sizes;
    for (const ReplicaSet& set : old_sets) sizes.push_back(replicas(set));
    const std::int32_t least_available = replicas(deployment) - rolling_update_limits(deployment).max_unavailable;
    const std::int32_t new_unavailable = replicas(new_set) - new_set.status.available_replicas;
    std::int32_t removable = total_replicas(old_sets) + replicas(new_set) - least_available - new_unavailable;
    if (removable <= 0) return sizes;

    for (std::size_t i = 0; i < sizes.size(); ++i) {
        const std::int32_t unhealthy = std::clamp(sizes[i] - old_sets[i].status.available_replicas, 0, std::max(0, removable));
        sizes[i] -= unhealthy;
        removable -= unhealthy;
    }
    std::int32_t spare = lasting_available(new_set) - least_available;
    for (const ReplicaSet& set : old_sets) spare += lasting_available(set);
    for (std::int32_t& size : sizes) {
        if (spare <= 0) break;
        const std::int32_t removed = std::min(size, spare);
        size -= removed;
        spare -= removed;
    }
    return sizes;
}

std::vector<std::int32_t> proportional_sizes(const Deployment& deployment, const std::vector<ReplicaSet>& active) {
    const std::int32_t wanted = to_add(deployment, active);
    std::int32_t added = 0;
    std::vector<std::int32_t> sizes;
    for (const ReplicaSet& set : active) {
        std::int32_t grow = 0;
        if (wanted != added && replicas(set) != 0) {
            const std::int32_t left = wanted - added;
            grow = wanted > 0 ? std::min(share(set, deployment), left) : std::max(share(set, deployment), left);
        }
        sizes.push_back(replicas(set) + grow);
        added += grow;
    }
    if (!sizes.empty()) sizes[0] = std::max(0, sizes[0] + wanted - added);
    return sizes;
}

void sort_for_scaling(const Deployment& deployment, std::vector<ReplicaSet>& active) {
    const bool growing = to_add(deployment, active) > 0;
    std::ranges::sort(active, [&](const ReplicaSet& a, const ReplicaSet& b) {
        if (replicas(a) != replicas(b)) return replicas(a) > replicas(b);
        const auto older = [](const ReplicaSet& x, const ReplicaSet& y) {
            return std::tie(x.metadata.creation_timestamp, x.metadata.name) < std::tie(y.metadata.creation_timestamp, y.metadata.name);
        };
        return growing ? older(b, a) : older(a, b);
    });
}

}  // namespace porthole::controllers::deployment
