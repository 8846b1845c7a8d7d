#pragma once
#include <string>
#include <vector>

#include "runtime/random.h"
#include "scheduler/framework/diagnosis.h"
#include "scheduler/framework/plugin.h"

namespace porthole::scheduler {

/// The properties of a PodDisruptionBudget that matter to preemption.
struct DisruptionBudget {
    std::string namespace_;
    Selector selector = Selector::nothing();
    std::int64_t disruptions_allowed = 0;
};

/// The pods to evict so that a pod can run, or why that would not help.
struct Preemption {
    const NodeInfo* node = nullptr;  ///< nullptr: preemption does not help
    std::vector<PodRef> victims;     ///< most important first
    std::string message;             ///< without a node: why; completes "… preemption: "
};

/// How many nodes are tried: this share of all nodes, and at least that many.
struct PreemptionEffort {
    std::size_t percent = 10, least = 100;
};

/// Finds the node where evicting pods of lower priority costs least: fewest violated budgets, then the least important victims, then the
/// fewest, then the youngest. Requires: `filters` belong to the cycle that failed to place `pod`.
Preemption find_preemption(const PodInfo& pod, const Cluster& cluster, const std::vector<DisruptionBudget>& budgets,
                           const Diagnosis& diagnosis, FilterRunner& filters, Random& random, PreemptionEffort effort = {});

}  // namespace porthole::scheduler
