#include <algorithm>

#include "windows/inference.h"
#include "windows/rules.h"

namespace porthole::windows {
namespace {

using core::PodSpec;
using enum Outcome;

bool may_land_on_either(const PodSpec& spec, Systems systems) {
    return systems.linux && systems.windows && spec.node_name.empty() && system_asked_for(spec).empty();
}

bool is_not_kept_on_its_system(const PodSpec& spec, Systems systems) {
    if (!spec.os || spec.os->name.empty() || !spec.node_name.empty() || selects_its_system(spec)) return false;
    return spec.os->name == "windows" ? systems.linux || !systems.windows : systems.windows;
}

// Why a pod is pending.

bool asks_for_windows_where_none_is(const PodSpec& spec, const NodeSummary& nodes) {
    return selected_system(spec) == "windows" && !nodes.systems.windows;
}

bool asks_for_other_build(const PodSpec& spec, const NodeSummary& nodes) {
    const auto wanted = spec.node_selector.find(std::string(BuildLabel));
    return wanted != spec.node_selector.end() && nodes.systems.windows && !nodes.builds.contains(wanted->second);
}

bool is_repelled_by_windows(const PodSpec& spec, const NodeSummary& nodes) {
    return nodes.windows_repels && infer_system(spec, "spec").system == "windows";
}

bool is_repelled_without_system(const PodSpec& spec, const NodeSummary& nodes) {
    return nodes.windows_repels && may_land_on_either(spec, nodes.systems) && infer_system(spec, "spec").system != "linux";
}

constexpr PlacementRule PlacementRules[] = {
    {.rule = {"WIN601", "spec.os", Advised, "", "no operating system is given, so the pod may land on a Linux or a Windows node",
              "set spec.os.name and nodeSelector[\"kubernetes.io/os\"] to linux or windows"},
     .applies = may_land_on_either,
     .keeps_pending = is_repelled_without_system},
    {.rule = {"WIN602", "spec.os.name", Advised, "", "does not choose the node, and a node of another system refuses the pod",
              "set nodeSelector[\"kubernetes.io/os\"] too", "1.25"},
     .applies = is_not_kept_on_its_system},
    {.rule = {"WIN604", "spec.nodeSelector", Advised, "FailedScheduling", "asks for Windows, and the cluster has no Windows node",
              "join a Windows node, or select a system that the nodes have"},
     .keeps_pending = asks_for_windows_where_none_is},
    {.rule = {"WIN605", "spec.nodeSelector[node.kubernetes.io/windows-build]", Advised, "FailedScheduling",
              "asks for a build of Windows that no node has",
              "write one that kubectl get nodes -L node.kubernetes.io/windows-build shows, and use images of that build"},
     .keeps_pending = asks_for_other_build},
    {.rule = {"WIN606", "spec.tolerations", Advised, "FailedScheduling", "do not tolerate every taint of the Windows nodes",
              "add a toleration for the taint that kubectl describe node shows, or name a RuntimeClass that has it"},
     .keeps_pending = is_repelled_by_windows},
};

}  // namespace

std::span<const PlacementRule> placement_rules() { return PlacementRules; }

}  // namespace porthole::windows
