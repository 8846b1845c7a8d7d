#include "controllers/daemonset/node_fit.h"

#include <algorithm>

#include "objects/node_selectors.h"
#include "objects/selectors.h"
#include "objects/tolerations.h"

namespace porthole::controllers::daemon {
namespace {

using api::core::v1::NodeSelectorRequirement;
using api::core::v1::NodeSelectorTerm;
using api::core::v1::Taint;
using api::core::v1::Toleration;

Toleration exists(const char* key, const char* effect) {
    Toleration toleration;
    toleration.key = key;
    toleration.operator_ = "Exists";
    toleration.effect = effect;
    return toleration;
}

}  // namespace

void add_daemon_tolerations(PodSpec& spec) {
    const auto add = [&](Toleration wanted) {
        const bool there = std::ranges::any_of(spec.tolerations, [&](const Toleration& toleration) {
            return toleration.key == wanted.key && toleration.effect == wanted.effect && toleration.operator_ == wanted.operator_;
        });
        if (!there) spec.tolerations.push_back(std::move(wanted));
    };
    add(exists("node.kubernetes.io/not-ready", "NoExecute"));
    add(exists("node.kubernetes.io/unreachable", "NoExecute"));
    add(exists("node.kubernetes.io/disk-pressure", "NoSchedule"));
    add(exists("node.kubernetes.io/memory-pressure", "NoSchedule"));
    add(exists("node.kubernetes.io/pid-pressure", "NoSchedule"));
    add(exists("node.kubernetes.io/unschedulable", "NoSchedule"));
    if (spec.host_network) add(exists("node.kubernetes.io/network-unavailable", "NoSchedule"));
}

void pin_to_node(PodSpec& spec, const std::string& node) {
    NodeSelectorRequirement name;
    name.key = "metadata.name";
    name.operator_ = "In";
    name.values = {node};
    NodeSelectorTerm term;
    term.match_fields = {std::move(name)};
    if (!spec.affinity) spec.affinity.emplace();
    if (!spec.affinity->node_affinity) spec.affinity->node_affinity.emplace();
    spec.affinity->node_affinity->required_during_scheduling_ignored_during_execution.emplace().node_selector_terms = {std::move(term)};
}

std::string node_of(const PodSpec& spec) {
    if (!spec.node_name.empty()) return spec.node_name;
    if (!spec.affinity || !spec.affinity->node_affinity) return "";
    const auto& required = spec.affinity->node_affinity->required_during_scheduling_ignored_during_execution;
    if (!required) return "";
    for (const NodeSelectorTerm& term : required->node_selector_terms)
        for (const NodeSelectorRequirement& field : term.match_fields)
            if (field.key == "metadata.name" && field.operator_ == "In" && field.values.size() == 1) return field.values[0];
    return "";
}

Fit fit(const PodSpec& spec, const Node& node) {
    if (!spec.node_name.empty() && spec.node_name != node.metadata.name) return {};
    if (!objects::accepts_node(spec, node.metadata.labels, node.metadata.name)) return {};
    bool endures_scheduling = true, endures_execution = true;
    for (const Taint& taint : node.spec.taints) {
        if (objects::tolerates(spec.tolerations, taint)) continue;
        if (taint.effect == "NoSchedule") endures_scheduling = false;
        if (taint.effect == "NoExecute") endures_execution = false;
    }
    return {endures_scheduling && endures_execution, endures_execution};
}

}  // namespace porthole::controllers::daemon
