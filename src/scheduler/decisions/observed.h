#pragma once
#include "scheduler/decisions/recorded.h"

namespace porthole::scheduler::testing {

/// What our scheduler does with the pod of a record.
struct Observed {
    NodeDecision decision;
    std::string chosen;  ///< node; "" for none
};

/// By one cycle with all plugins, and preemption if it finds no node.
Observed observe_cycle(const Recorded& recorded);
/// By the whole scheduler, which watches an API: the outcome alone, without verdicts and scores.
Observed observe_scheduler(const Recorded& recorded);

}  // namespace porthole::scheduler::testing
