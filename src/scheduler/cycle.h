#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "runtime/random.h"
#include "scheduler/framework/plugin.h"

namespace porthole::scheduler {

/// Plugins by their position in the list.
using PluginSet = std::uint32_t;

/// Why no node took a pod.
struct Diagnosis {
    std::size_t node_count = 0;
    std::string pre_filter_message;                            ///< set when the nodes were not even looked at
    std::vector<std::pair<std::string, std::size_t>> reasons;  ///< reason and number of nodes
    PluginSet rejected_by = 0;
    std::vector<const NodeInfo*> preemption_may_help;  ///< in the order of looking

    /// "0/3 nodes are available: 1 Insufficient cpu, 2 Too many pods."
    std::string text() const;
};

/// "0/N nodes are available: " and the counted reasons, sorted as texts; ends with a full stop.
std::string nodes_available_text(std::size_t node_count, const std::vector<std::pair<std::string, std::size_t>>& reasons);

struct Decision {
    const NodeInfo* node = nullptr;  ///< nullptr: see diagnosis
    std::size_t evaluated = 0, feasible = 0;
    Diagnosis diagnosis;
};

/// The choice of a node for one pod: filters over as many nodes as are worth it, then scores.
///
/// Synchronous and without side effects on the cluster. In clusters of 100 nodes or more it stops looking once it has found a
/// share of them (50 % falling to 5 %, at least 100), starting each time where the last cycle stopped.
class Cycle {
public:
    Cycle(const Cluster& cluster, const PluginList& plugins, Random& random);

    Decision decide(const PodInfo& pod);

    /// For preemption, within the cycle of the pod last decided: whether it fits on `node` as given, counting pods nominated
    /// there of at least its priority.
    bool fits(const NodeInfo& node, Rejection& rejection);
    void pod_added(const PodInfo& pod, const NodeInfo& node);
    void pod_removed(const PodInfo& pod, const NodeInfo& node);

    static std::size_t nodes_wanted(std::size_t node_count);

private:
    bool run_pre_filters(const PodInfo& pod, Decision& decision);
    void find_feasible(Decision& decision);
    bool passes(const NodeInfo& node, Rejection& rejection);
    bool passes_with_nominated(const NodeInfo& node, Rejection& rejection);
    void record(const Rejection& rejection, const NodeInfo& node, Diagnosis& diagnosis);
    const NodeInfo* best();

    const Cluster& cluster_;
    const PluginList& plugins_;
    Random& random_;

    // Of the present cycle; kept to reuse their memory.
    const PodInfo* pod_ = nullptr;
    std::vector<std::pair<std::uint32_t, Plugin*>> filters_;  // position, plugin
    std::uint32_t rejecting_ = 0;                             // position of the plugin that said no last
    std::optional<std::set<std::string>> only_nodes_;
    std::vector<std::string> limiting_plugins_;
    std::vector<const NodeInfo*> feasible_;
    std::vector<std::int64_t> totals_, scores_;
    Rejection rejection_;
    std::vector<std::pair<std::string_view, std::size_t>> counted_;
    std::size_t next_start_ = 0;
};

}  // namespace porthole::scheduler
