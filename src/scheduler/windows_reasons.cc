#include "scheduler/windows_reasons.h"

#include <algorithm>

#include "base/strings.h"
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

windows::NodeSummary summary_for(const PodInfo& pod, const Cluster& cluster) {
    windows::NodeSummary summary;
    for (const NodeInfo* node : cluster.nodes()) {
        const std::string_view system = label(node->spec(), "kubernetes.io/os");
        summary.systems.linux = summary.systems.linux || system == "linux";
        if (system != "windows") continue;
        const bool others_repel = !summary.systems.windows || summary.windows_repels;
        summary.windows_repels = others_repel && repels(node->spec(), pod);
        summary.systems.windows = true;
        if (const std::string_view build = label(node->spec(), windows::BuildLabel); !build.empty()) summary.builds.emplace(build);
    }
    return summary;
}

}  // namespace

std::string windows_reasons(const PodInfo& pod, const api::core::v1::Pod& object, const Cluster& cluster) {
    return join(windows::pending_reasons(object.spec, object.metadata.annotations, summary_for(pod, cluster)), ". ");
}

}  // namespace porthole::scheduler
