#pragma once
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "scheduler/framework/node_info.h"

namespace porthole::scheduler {

/// Pods that are equal in everything that matters to the placement of other pods: namespace, labels, whether terminating, affinity terms.
///
/// A Deployment's thousands of pods are one class, so a selector is evaluated once for all of them, and their distribution over the nodes
/// is one table.
struct PodClass {
    std::uint32_t id = 0;                                    ///< dense: the index of per-class tables
    PodRef example;                                          ///< its labels and affinity terms are those of all pods of the class
    std::unordered_map<std::uint32_t, std::uint32_t> nodes;  ///< node slot → pods there
};

/// The values of one topology key over all existing nodes, as small numbers.
struct Topology {
    static constexpr std::int32_t None = -1;
    std::vector<std::int32_t> domain_of_slot;  ///< None where the node lacks the key
    std::vector<std::string> values;           ///< by domain

    std::int32_t domain(const NodeInfo& node) const { return domain_of_slot[node.slot()]; }
};

/// Where an image is already stored.
struct ImageInfo {
    std::unordered_map<std::uint32_t, std::int64_t> size_on_slot;
};

/// The cluster as the scheduler sees it: the state from its watches, plus the pods that it has placed and whose bindings have not been
/// observed yet.
///
/// Everything is updated in place on one thread and a scheduling cycle never suspends, so a cycle needs no snapshot. Nodes keep their
/// address and slot while they exist.
class Cluster {
public:
    Cluster() = default;
    Cluster(const Cluster&) = delete;

    void set_node(NodeSpec spec);
    void remove_node(const std::string& name);
    /// nullptr for a name without a node, even if pods mention it.
    const NodeInfo* find_node(const std::string& name) const;
    /// Existing nodes, zones taking turns.
    std::span<const NodeInfo* const> nodes() const;
    /// The slot of each of nodes().
    std::span<const std::uint32_t> node_slots() const;
    /// Differs from every earlier one of the slot once its node, or a pod on it, has changed.
    std::uint64_t generation(std::uint32_t slot) const { return generations_[slot]; }
    /// Greater than before once a node has come or gone, or has other labels or taints.
    std::uint64_t node_changes() const { return node_changes_; }
    /// Whether some existing node has a taint of effect PreferNoSchedule.
    bool any_prefer_no_schedule() const { return prefer_no_schedule_ > 0; }
    /// By slot; may include nodes that do not exist.
    const NodeInfo& node_at(std::uint32_t slot) const { return *slots_[slot]; }
    std::uint32_t slot_count() const { return static_cast<std::uint32_t>(slots_.size()); }

    /// A pod observed on its node: new, changed, or confirming an assumption. Requires: node_name is set.
    void set_pod(PodRef pod);
    /// Harmless for an unknown pod.
    void remove_pod(const std::string& uid);
    /// Counts `pod` on `node` until set_pod confirms it or forget() undoes it.
    void assume(PodRef pod, const std::string& node);
    void forget(const std::string& uid);
    bool is_assumed(const std::string& uid) const;
    /// The pod if it is counted on some node, else null.
    PodRef find_pod(const std::string& uid) const;

    /// How often pods that are counted on nodes name the claim "namespace/name".
    std::uint32_t claim_uses(const std::string& claim) const;

    /// A preemptor waits for room on `node`; until then, pods of lower priority may not take it.
    void nominate(PodRef pod, const std::string& node);
    void clear_nomination(const std::string& uid);
    /// The node that the pod is nominated for; null for none. Valid until the next change.
    const std::string* find_nomination(const std::string& uid) const;
    /// Pods nominated to run on `node`; empty for most.
    std::span<const PodRef> nominated(const std::string& node) const;
    bool any_nominated() const { return !nominated_.empty(); }

    void set_namespace(const std::string& name, Labels labels) { namespaces_[name] = std::move(labels); }
    void remove_namespace(const std::string& name) { namespaces_.erase(name); }
    const Labels& namespace_labels(const std::string& name) const;

    std::span<PodClass* const> classes(const std::string& namespace_) const;
    std::span<PodClass* const> classes_with_affinity() const { return classes_with_affinity_; }
    std::span<PodClass* const> all_classes() const { return all_classes_; }
    std::uint32_t class_limit() const { return static_cast<std::uint32_t>(class_ids_.size()); }

    const Topology& topology(const std::string& key) const;
    /// nullptr if no node has it.
    const ImageInfo* find_image(const std::string& name) const;

private:
    struct Placement {
        PodRef pod;
        std::uint32_t slot;
        bool assumed;
    };
    NodeInfo& ensure_node(const std::string& name);
    void changed(const NodeInfo& node) { generations_[node.slot()] = ++last_generation_; }
    void drop_if_unused(NodeInfo& node);
    void place(PodRef pod, const std::string& node, bool assumed);
    void set_images(const NodeInfo& node, const std::vector<std::pair<std::string, std::int64_t>>& images, bool present);
    PodClass& ensure_class(const PodRef& pod);
    void drop_class(PodClass& pod_class);
    void topology_changed();
    void count_claims(const PodInfo& pod, bool adding);

    std::vector<std::unique_ptr<NodeInfo>> slots_;
    std::vector<std::uint32_t> free_slots_;
    std::vector<std::uint64_t> generations_;  // by slot
    std::uint64_t last_generation_ = 0, node_changes_ = 0;
    std::size_t prefer_no_schedule_ = 0;  // nodes with such a taint
    std::unordered_map<std::string, std::uint32_t> slot_of_;
    std::unordered_map<std::string, Placement> placements_;           // by uid
    std::unordered_map<std::string, std::vector<PodRef>> nominated_;  // by node
    std::unordered_map<std::string, std::string> nominations_;        // uid → node
    std::unordered_map<std::string, Labels> namespaces_;
    std::unordered_map<std::string, ImageInfo> images_;
    std::unordered_map<std::string, std::uint32_t> claim_uses_;  // none is 0

    std::unordered_map<std::string, std::unique_ptr<PodClass>> classes_;  // by text
    std::unordered_map<std::string, std::vector<PodClass*>> classes_by_namespace_;
    std::vector<PodClass*> all_classes_, classes_with_affinity_;
    std::vector<bool> class_ids_;  // in use
    std::vector<std::uint32_t> free_class_ids_;

    // Created on demand, and dropped when a node is added, removed or relabeled.
    mutable std::unordered_map<std::string, Topology> topologies_;  // of label_keys_
    /// Of the labels of all nodes; empty until asked for. A pod may name ten thousand keys that no node has: they share no_topology_.
    mutable std::unordered_set<std::string> label_keys_;
    mutable Topology no_topology_;
    mutable std::vector<const NodeInfo*> order_;
    mutable std::vector<std::uint32_t> order_slots_;
    mutable bool order_valid_ = false;
};

}  // namespace porthole::scheduler
