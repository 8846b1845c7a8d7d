#pragma once
#include <cstdint>
#include <limits>
#include <list>
#include <span>
#include <vector>

#include "scheduler/framework/pod_info.h"

namespace porthole::scheduler {

/// What plugins that look at one node alone have said of each node, for the pods decided last: the thousand pods of a Deployment are
/// filtered and scored once for each node, and again for a node only when it has changed.
///
/// Knows nodes by their slots in a Cluster. For each of a few pods, those used last, it holds 16 bytes for a node.
class NodeVerdicts {
public:
    static constexpr std::int64_t Unscored = std::numeric_limits<std::int64_t>::min();
    /// That the pod passes those filters. Example: {.generation = 7, .score = 120} holds while Cluster::generation() of the slot is 7.
    struct Verdict {
        std::uint64_t generation = 0;   ///< of the node when it was asked; 0, which no node has: not known
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
