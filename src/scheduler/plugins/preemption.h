#pragma once
#include <string>
#include <vector>

#include "runtime/random.h"
#include "scheduler/framework/diagnosis.h"
#include "scheduler/framework/plugin.h"

namespace porthole::scheduler {

/// A PodDisruptionBudget as preemption sees it.
struct DisruptionBudget {
    std::string namespace_;
    Selector selector = Selector::nothing();
    std::int64_t disruptions_allowed = 0;
};

/// Which pods would have to be evicted for a pod to run, or why that would not help.
struct Preemption {
    const NodeInfo* node = nullptr;  ///< nullptr: nothing to gain
    std::vector<PodRef> victims;     ///< most important first
    std::string message;             ///< without a node: why; completes "… preemption: "
};

/// Looks for the node where evicting pods of lower priority costs least: fewest broken budgets, then the least important
/// victims, then the fewest, then the youngest. Requires: `filters` belong to the cycle that failed to place `pod`.
Preemption find_preemption(const PodInfo& pod, const Cluster& cluster, const std::vector<DisruptionBudget>& budgets,
                           const Diagnosis& diagnosis, FilterRunner& filters, Random& random);

}  // namespace porthole::scheduler
