#include "controllers/daemonset/daemon_update.h"

#include <algorithm>

#include "controllers/framework/revisions.h"
#include "objects/pods.h"

namespace porthole::controllers::daemon {
namespace {

/// A node's one pod of the old and of the new template, not counting those about to go.
struct Pair {
    PodPointer old_pod, new_pod;
    bool crowded = false;  ///< more than one of a kind: to be tidied up first
};

Pair find_pair(const std::vector<PodPointer>& pods, const std::string& hash) {
    Pair pair;
    for (const PodPointer& pod : pods) {
        if (objects::is_terminating(*pod)) continue;
        PodPointer& slot = is_updated(*pod, hash) ? pair.new_pod : pair.old_pod;
        pair.crowded |= slot != nullptr;
        slot = pod;
    }
    return pair;
}

std::int32_t scaled(const std::optional<IntOrString>& amount, std::int32_t fallback, std::int32_t total) {
    return amount ? amount->scaled(total, true).value_or(fallback) : fallback;
}

template <class T>
void append_some(std::vector<T>& to, const std::vector<T>& from, std::int32_t most) {
    const auto count = std::min<std::size_t>(from.size(), static_cast<std::size_t>(std::max(0, most)));
    to.insert(to.end(), from.begin(), from.begin() + static_cast<std::ptrdiff_t>(count));
}

}  // namespace

bool is_updated(const Pod& pod, const std::string& hash) {
    const auto found = pod.metadata.labels.find(RevisionHashLabel);
    return found != pod.metadata.labels.end() && found->second == hash;
}

std::int32_t max_surge(const DaemonSet& set, std::int32_t desired) {
    const auto& update = set.spec.update_strategy.rolling_update;
    return set.spec.update_strategy.type == "OnDelete" || !update ? 0 : scaled(update->max_surge, 0, desired);
}

std::int32_t max_unavailable(const DaemonSet& set, std::int32_t desired) {
    const auto& update = set.spec.update_strategy.rolling_update;
    const std::int32_t unavailable = update ? scaled(update->max_unavailable, 1, desired) : 1;
    return unavailable == 0 && max_surge(set, desired) == 0 ? 1 : unavailable;
}

Changes rolling_step(const DaemonSet& set, const PodsByNode& pods, const std::string& hash, std::int32_t desired, SystemTime now) {
    const std::chrono::seconds min_ready(set.spec.min_ready_seconds);
    const auto available = [&](const PodPointer& pod) { return objects::is_available(*pod, min_ready, now); };
    const std::int32_t surge = max_surge(set, desired);
    Changes changes;
    std::vector<std::string> surge_candidates;
    std::vector<PodPointer> candidates;
    std::int32_t unavailable = 0, surging = 0;
    for (const auto& [node, on_node] : pods) {
        const Pair pair = find_pair(on_node, hash);
        if (pair.crowded) {
            ++unavailable;
            ++surging;
        } else if (surge > 0) {
            if (!pair.old_pod) continue;
            if (!pair.new_pod)
                (available(pair.old_pod) ? surge_candidates : changes.create_on).push_back(node);
            else if (available(pair.new_pod) || !objects::is_ready(*pair.old_pod))
                changes.remove.push_back(pair.old_pod);
            else
                ++surging;
        } else if (!pair.old_pod == !pair.new_pod) {
            ++unavailable;  // none or both: creating and tidying up come first
        } else if (pair.new_pod) {
            if (!available(pair.new_pod)) ++unavailable;
        } else if (available(pair.old_pod)) {
            candidates.push_back(pair.old_pod);
        } else {
            ++unavailable;
            changes.remove.push_back(pair.old_pod);
        }
    }
    append_some(changes.remove, candidates, max_unavailable(set, desired) - unavailable);
    append_some(changes.create_on, surge_candidates, surge - surging - static_cast<std::int32_t>(changes.create_on.size()));
    return changes;
}

}  // namespace porthole::controllers::daemon
