#pragma once
#include <cstdint>
#include <limits>
#include <list>
#include <span>
#include <vector>

#include "scheduler/framework/pod_info.h"

namespace porthole::scheduler {

/// Caches the results of plugins that depend on one node alone, for the most recent pods: the thousand pods of a Deployment are filtered
/// and scored once for each node, and again for a node only when it has changed.
///
/// Identifies nodes by their slots in a Cluster. For each of a few pods, the most recently used, it holds 16 bytes per node.
class NodeVerdicts {
public:
    static constexpr std::int64_t Unscored = std::numeric_limits<std::int64_t>::min();
    /// The pod passes those filters. Example: {.generation = 7, .score = 120} is valid while Cluster::generation() of the slot is 7.
    struct Verdict {
        std::uint64_t generation = 0;   ///< of the node at that time; 0, which no node has: unknown
        std::int64_t score = Unscored;  ///< weighted sum of the scores that depend on the node alone
    };

    /// The verdicts on pods that are alike_on_any_node() with `pod`, by slot, for the caller to use and fill. Valid until the next call.
    std::span<Verdict> of(const PodInfo& pod, std::size_t slot_count);

private:
    struct Remembered {
        PodInfo example;
        std::vector<Verdict> verdicts;
    };
    std::list<Remembered> remembered_;  // the one used last first
};

}  // namespace porthole::scheduler
