#pragma once
#include <memory>
#include <vector>

#include "api/core_v1.h"
#include "runtime/event_loop.h"

namespace porthole::controllers {

/// A pod and what its rank depends on outside of it.
struct RankedPod {
    std::shared_ptr<const api::core::v1::Pod> pod;
    int neighbors = 0;  ///< pods of the same owner or its siblings on the same node
};

/// Sorts so that the pods whose loss hurts least come first: unassigned, not running, not ready, cheap by the annotation
/// controller.kubernetes.io/pod-deletion-cost, crowded, ready for a short time, often restarted, young.
void rank_for_deletion(std::vector<RankedPod>& pods, SystemTime now);

/// The annotation's value; 0 where there is none or it is not a number.
std::int32_t deletion_cost(const api::core::v1::Pod& pod);

}  // namespace porthole::controllers
