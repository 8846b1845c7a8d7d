#include "scheduler/framework/plugin.h"

#include <algorithm>

namespace porthole::scheduler {

PluginCalls PluginCalls::all_of(const PluginList& plugins) {
    PluginCalls calls;
    for (std::uint32_t position = 0; position < plugins.size(); ++position) {
        Plugin* plugin = plugins[position].get();
        calls.filters.push_back({position, plugin});
        if (plugin->weight() > 0) calls.scorers.push_back({plugin, plugin->weight()});
        for (auto* point : {&calls.post_filters, &calls.reservers, &calls.binders}) point->push_back(plugin);
    }
    return calls;
}

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
