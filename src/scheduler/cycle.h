#pragma once
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/random.h"
#include "scheduler/extenders/answers.h"
#include "scheduler/framework/diagnosis.h"
#include "scheduler/framework/plugin.h"
#include "scheduler/node_verdicts.h"

namespace porthole::scheduler {

/// The result of a cycle.
struct Decision {
    const NodeInfo* node = nullptr;  ///< nullptr: see diagnosis
    std::size_t evaluated = 0, feasible = 0;
    Diagnosis diagnosis;
};

/// The nodes that extenders are asked about.
struct Proposal {
    std::vector<std::string> nodes;
    Decision decision;  ///< without nodes: the end of the cycle, as of decide()
};

/// The choice of a node for one pod: filters over a sufficient number of nodes, then scores.
///
/// For the pods of one profile. Synchronous and without side effects on the cluster. In clusters of 100 nodes or more it stops filtering
/// once it has found a share of them (by default 50 % falling to 5 %; at least 100), starting each time where the last cycle stopped.
/// Results of plugins that depend on one node alone are cached for identical pods until the node changes, which changes no decision. Runs
/// on the scheduler's loop; references outlive it, and a Decision's pointers are valid until the cluster changes.
class Cycle final : public FilterRunner {
public:
    /// `percentage_of_nodes` is the share of nodes to find; 0: by the size of the cluster. `calls` are what the profile calls.
    Cycle(const Cluster& cluster, PluginCalls calls, Random& random, std::int64_t percentage_of_nodes = 0);
    /// With every plugin of the list.
    Cycle(const Cluster& cluster, const PluginList& plugins, Random& random) : Cycle(cluster, PluginCalls::all_of(plugins), random) {}

    Decision decide(const PodInfo& pod);

    // With extenders, whose answers take time. propose() filters; then they are asked, while the cluster may change; then decide() filters
    // again, in the cluster's present state, leaves out what they have not accepted, and scores. No other cycle of the profile may be in
    // between.
    enum class Among : std::uint8_t { NominatedNode, AllNodes };
    Proposal propose(const PodInfo& pod, Among among);
    Decision decide(const PodInfo& pod, Among among, const ExtenderAnswers& answers);

    // Within the cycle of the pod last decided.
    bool fits(const NodeInfo& node, FilterStatus& status) override;
    void pod_added(const PodInfo& pod, const NodeInfo& node) override;
    void pod_removed(const PodInfo& pod, const NodeInfo& node) override;

    const PluginCalls& calls() const { return calls_; }

    static std::size_t nodes_wanted(std::size_t node_count, std::int64_t percentage = 0);

private:
    void find(const PodInfo& pod, Among among, Decision& decision);
    bool begin(const PodInfo& pod, Decision& decision);
    bool run_pre_filters(const PodInfo& pod, Decision& decision);
    bool find_nominated(Decision& decision);
    void find_feasible(Decision& decision);
    void keep_accepted(Diagnosis& diagnosis);
    void find_among_all(Decision& decision);
    void look_at(const NodeInfo& node, Decision& decision);
    bool is_known(std::uint32_t slot) const;
    void add_feasible(const NodeInfo& node, std::uint32_t slot);
    bool passes(const NodeInfo& node, FilterStatus& status, bool known = false);
    bool passes_with_nominated(const NodeInfo& node, FilterStatus& status);
    void record(const FilterStatus& status, const NodeInfo& node, Diagnosis& diagnosis);
    const NodeInfo* best();
    void add_scores_by_node_alone();

    const Cluster& cluster_;
    const PluginCalls calls_;
    Random& random_;
    const std::int64_t percentage_of_nodes_;

    // State of the current cycle; members, to reuse their memory.
    const PodInfo* pod_ = nullptr;
    bool has_extenders_ = false;                ///< which take part in this cycle
    const ExtenderAnswers* answers_ = nullptr;  ///< null until they have been asked
    struct Filter {
        std::uint32_t position;
        Plugin* plugin;
        bool by_node_alone;
    };
    std::vector<Filter> filters_;
    const Filter* rejecting_ = nullptr;  // the filter that rejected last
    std::optional<std::set<std::string>> only_nodes_;
    std::vector<std::string> limiting_plugins_;
    std::vector<const NodeInfo*> feasible_;
    std::vector<std::uint32_t> feasible_slots_;
    std::vector<PluginCalls::Scorer> by_node_alone_;  // those whose score depends on one node alone
    std::vector<std::int64_t> totals_, scores_;
    NodeVerdicts remembered_;
    std::span<NodeVerdicts::Verdict> verdicts_;  // by slot; empty if nodes are evaluated one by one

    FilterStatus status_;
    std::unordered_map<std::string_view, std::size_t> counted_;  // nodes by reason
    std::size_t next_start_ = 0;
};

}  // namespace porthole::scheduler
