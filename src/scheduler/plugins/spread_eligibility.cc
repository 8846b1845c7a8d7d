#include "scheduler/plugins/spread_eligibility.h"

#include <algorithm>
#include <iterator>

namespace porthole::scheduler {

namespace {

constexpr std::size_t PodsRemembered = 4;

std::vector<SpreadEligibility::Nodes> find_nodes(const PodInfo& pod, std::span<const SpreadConstraint* const> constraints,
                                                 const Cluster& cluster) {
    std::vector<const Topology*> topologies;
    std::vector<SpreadEligibility::Nodes> found;
    for (const SpreadConstraint* constraint : constraints) {
        topologies.push_back(&cluster.topology(constraint->topology_key));
        auto& nodes = found.emplace_back();
        nodes.slots.assign(cluster.slot_count(), false);
        nodes.domains.assign(topologies.back()->values.size(), false);
    }
    for (const NodeInfo* node : cluster.nodes()) {
        // One that lacks a key of any constraint counts for none of them.
        if (std::ranges::any_of(topologies, [&](const Topology* topology) { return topology->domain(*node) == Topology::None; })) continue;
        for (std::size_t i = 0; i < constraints.size(); ++i) {
            if (!counts_on(*constraints[i], pod, *node)) continue;
            const auto domain = static_cast<std::size_t>(topologies[i]->domain(*node));
            found[i].slots[node->slot()] = true;
            found[i].domain_count += !found[i].domains[domain];
            found[i].domains[domain] = true;
        }
    }
    return found;
}

}  // namespace

bool counts_on(const SpreadConstraint& constraint, const PodInfo& pod, const NodeInfo& node) {
    if (constraint.honor_node_affinity && !pod.accepts_node(node.spec().labels, node.name())) return false;
    if (!constraint.honor_node_taints) return true;
    return std::ranges::all_of(node.spec().taints, [&](const Taint& taint) {
        return taint.effect == TaintEffect::PreferNoSchedule || tolerated(taint, pod.tolerations);
    });
}

SpreadEligibility::Key SpreadEligibility::key_of(const PodInfo& pod, std::span<const SpreadConstraint* const> constraints) {
    Key key{.node_selector = pod.node_selector,
            .required_node_terms = pod.required_node_terms,
            .tolerations = pod.tolerations,
            .constraints = {}};
    for (const SpreadConstraint* one : constraints)
        key.constraints.push_back({one->topology_key, one->honor_node_affinity, one->honor_node_taints});
    return key;
}

std::span<const SpreadEligibility::Nodes> SpreadEligibility::of(const PodInfo& pod, std::span<const SpreadConstraint* const> constraints,
                                                                const Cluster& cluster) {
    Key key = key_of(pod, constraints);
    const auto known = std::ranges::find(remembered_, key, &Remembered::key);
    if (known != remembered_.end() && known->node_changes == cluster.node_changes()) {
        remembered_.splice(remembered_.begin(), remembered_, known);
        return known->nodes;
    }
    if (known != remembered_.end())
        remembered_.erase(known);
    else if (remembered_.size() == PodsRemembered)
        remembered_.pop_back();
    remembered_.push_front({std::move(key), cluster.node_changes(), find_nodes(pod, constraints, cluster)});
    return remembered_.front().nodes;
}

}  // namespace porthole::scheduler
