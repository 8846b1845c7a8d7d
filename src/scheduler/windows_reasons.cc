#include "scheduler/windows_reasons.h"

#include <algorithm>

#include "base/strings.h"
#include "scheduler/plugins/plugins.h"
#include "windows/support.h"

namespace porthole::scheduler {
namespace {

std::string_view label(const NodeSpec& node, std::string_view key) {
    const auto found = std::ranges::find(node.labels, key, [](const auto& one) -> std::string_view { return one.first; });
    return found == node.labels.end() ? std::string_view() : std::string_view(found->second);
}

/// Taints of a node's condition, such as not-ready, come and go, and pods should not tolerate them.
bool repels(const NodeSpec& node, const PodInfo& pod) {
    return std::ranges::any_of(node.taints, [&](const Taint& taint) {
        const bool of_condition = taint.key.starts_with("node.kubernetes.io/") && taint.key != "node.kubernetes.io/os";
        return taint.effect != TaintEffect::PreferNoSchedule && !of_condition && !tolerated(taint, pod.tolerations);
    });
}

windows::NodeSummary summary_for(const PodInfo& pod, const Cluster& cluster, const Diagnosis& diagnosis) {
    windows::NodeSummary summary;
    // Without that reason no node was refused for its taints: the pod waits for something else, such as its volumes.
    const bool by_taint = std::ranges::find(diagnosis.reasons, UntoleratedTaint,
                                            [](const auto& one) -> std::string_view { return one.first; }) != diagnosis.reasons.end();
    bool all_repel = true, any_repels = false;
    for (const NodeInfo* node : cluster.nodes()) {
        const NodeSpec& spec = node->spec();
        const std::string_view system = label(spec, "kubernetes.io/os");
        summary.systems.linux = summary.systems.linux || system == "linux";
        if (system != "windows") continue;
        summary.systems.windows = true;
        if (const std::string_view build = label(spec, windows::BuildLabel); !build.empty()) summary.builds.emplace(build);
        // A node that the pod does not select stays closed to it, whatever its taints are.
        if (spec.unschedulable || !pod.accepts_node(spec.labels, node->name())) continue;
        const bool one_repels = repels(spec, pod);
        any_repels = any_repels || one_repels;
        all_repel = all_repel && one_repels;
    }
    summary.windows_repels = by_taint && any_repels && all_repel;
    return summary;
}

}  // namespace

std::string windows_reasons(const PodInfo& pod, const api::core::v1::Pod& object, const Cluster& cluster, const Diagnosis& diagnosis) {
    return join(windows::pending_reasons(object.spec, object.metadata.annotations, summary_for(pod, cluster, diagnosis)), ". ");
}

}  // namespace porthole::scheduler
