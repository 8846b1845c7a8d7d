#include "scheduler/framework/plugin.h"

#include <algorithm>

namespace porthole::scheduler {

void normalize_to_largest(std::span<std::int64_t> scores, bool reverse) {
    const std::int64_t largest = scores.empty() ? 0 : std::ranges::max(scores);
    for (std::int64_t& score : scores) {
        score = largest == 0 ? 0 : score * MaxScore / largest;
        if (reverse) score = MaxScore - score;
    }
}

bool names_pod(const AffinityTerm& term, const PodInfo& pod, const Cluster& cluster) {
    if (!term.selector.matches(pod.labels)) return false;
    return term.namespaces.contains(pod.namespace_) || term.namespace_selector.matches_everything() ||
           (!term.namespace_selector.matches_nothing() && term.namespace_selector.matches(cluster.namespace_labels(pod.namespace_)));
}

}  // namespace porthole::scheduler
