#pragma once
#include <cstdint>
#include <list>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "scheduler/framework/cluster.h"

namespace porthole::scheduler {

/// Whether a node counts for a constraint, by its labels and taints.
bool counts_on(const SpreadConstraint& constraint, const PodInfo& pod, const NodeInfo& node);

/// Which nodes count for the required spread constraints of a pod.
///
/// This depends on labels and taints of all nodes and on little of the pod, so it is found once for the thousand pods of a Deployment, and
/// again when a node has changed. Holds tables for a few pods, the most recently used: one bit per node and constraint.
class SpreadEligibility {
public:
    /// Of one constraint.
    struct Nodes {
        std::vector<bool> slots;    ///< by slot
        std::vector<bool> domains;  ///< by domain of the constraint's topology: whether one of these nodes is there
        std::size_t domain_count = 0;
    };
    /// For each of the constraints of `pod`, in their order. Valid until the next call.
    std::span<const Nodes> of(const PodInfo& pod, std::span<const SpreadConstraint* const> constraints, const Cluster& cluster);

private:
    /// What of a pod and its constraints decides.
    struct Key {
        struct Constraint {
            std::string topology_key;
            bool honor_node_affinity, honor_node_taints;
            bool operator==(const Constraint&) const = default;
        };
        Labels node_selector;
        std::optional<std::vector<NodeSelectorTerm>> required_node_terms;
        std::vector<Toleration> tolerations;
        std::vector<Constraint> constraints;
        bool operator==(const Key&) const = default;
    };
    struct Remembered {
        Key key;
        std::uint64_t node_changes;
        std::vector<Nodes> nodes;
    };
    static Key key_of(const PodInfo& pod, std::span<const SpreadConstraint* const> constraints);

    std::list<Remembered> remembered_;  // the one used last first
};

}  // namespace porthole::scheduler
