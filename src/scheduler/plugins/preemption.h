#pragma once
#include <set>
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
    std::set<std::string> disrupted;  ///< names of pods whose eviction `disruptions_allowed` already counts
};

/// The nodes where evicting pods would let a pod run, or why there are none.
struct PreemptionCandidates {
    std::vector<PreemptionCandidate> candidates;
    std::string message;          ///< without candidates: why; completes "… preemption: "
    bool were_looked_for = true;  ///< false: the pod may not preempt, or not yet
};

/// How many nodes are tried: this share of all nodes, and at least that many.
struct PreemptionEffort {
    std::size_t percent = 10, least = 100;
};

/// Finds nodes where `pod` fits without pods of lower priority. Requires: `filters` belong to the cycle that failed to place `pod`.
PreemptionCandidates find_candidates(const PodInfo& pod, const Cluster& cluster, const std::vector<DisruptionBudget>& budgets,
                                     const Diagnosis& diagnosis, FilterRunner& filters, Random& random, PreemptionEffort effort = {});
/// Where eviction costs least: fewest violated budgets, then the least important victims, then the fewest, then the youngest. Requires:
/// not empty.
const PreemptionCandidate& cheapest(const std::vector<PreemptionCandidate>& candidates);

}  // namespace porthole::scheduler
