#pragma once
#include <string>
#include <vector>

#include "scheduler/cycle.h"

namespace porthole::scheduler {

/// A PodDisruptionBudget as preemption sees it.
struct DisruptionBudget {
    std::string namespace_;
    Selector selector = Selector::nothing();
    std::int64_t disruptions_allowed = 0;
};

/// Who would have to go for a pod to run, or why that is no way out.
struct Preemption {
    const NodeInfo* node = nullptr;  ///< nullptr: nothing to gain
    std::vector<PodRef> victims;     ///< most important first
    std::string message;             ///< without a node: why; completes "… preemption: "
};

/// Looks for the node where evicting pods of lower priority costs least: fewest broken budgets, then the least important
/// victims, then the fewest, then the youngest. Call directly after `cycle` failed to place `pod`.
Preemption find_preemption(const PodInfo& pod, const Cluster& cluster, const std::vector<DisruptionBudget>& budgets,
                           const Diagnosis& diagnosis, Cycle& cycle, Random& random);

}  // namespace porthole::scheduler
