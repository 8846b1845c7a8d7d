#pragma once
#include <memory>
#include <vector>

#include "api/core_v1.h"
#include "runtime/event_loop.h"

namespace porthole::controllers {

/// A pod, and facts outside of it that its rank depends on.
struct RankedPod {
    std::shared_ptr<const api::core::v1::Pod> pod;
    int neighbors = 0;  ///< pods of the same owner or its siblings on the same node
};

/// Sorts by how little the loss of a pod hurts: first unassigned, not running, not ready, low annotation
/// controller.kubernetes.io/pod-deletion-cost, many related pods on the node, ready for a short time, often restarted, young.
void rank_for_deletion(std::vector<RankedPod>& pods, SystemTime now);

/// The annotation's value; 0 if there is none or it is not a number.
std::int32_t deletion_cost(const api::core::v1::Pod& pod);

}  // namespace porthole::controllers
