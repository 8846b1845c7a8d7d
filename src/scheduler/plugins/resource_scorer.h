#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "api/kubescheduler_v1.h"
#include "scheduler/framework/node_info.h"

namespace porthole::scheduler {

/// Of one resource on one node.
struct ResourceUse {
    std::int64_t total = 0;    ///< 0: it does not count there
    std::int64_t present = 0;  ///< requested by the node's pods
    std::int64_t with_pod = 0;
};

/// Use of the resource `name` if `pod` ran on `node`. An extended resource counts only if the pod requests it. `with_defaults`: containers
/// that request no CPU or memory count as if they requested some.
///
/// Differs from Kubernetes: an extended resource that DynamicResources allocates on the node does not count.
ResourceUse resource_use(const std::string& name, const NodeInfo& node, const PodInfo& pod, bool with_defaults);

/// Scores a node by the use of its resources: the scoringStrategy of NodeResourcesFitArgs.
class ResourceScorer {
public:
    explicit ResourceScorer(const api::kubescheduler::v1::ScoringStrategy& strategy);

    /// 0 … MaxScore
    std::int64_t score(const NodeInfo& node, const PodInfo& pod) const;

private:
    enum class Strategy : std::uint8_t { LeastAllocated, MostAllocated, RequestedToCapacityRatio };
    std::int64_t score_of(const ResourceUse& use) const;
    std::int64_t on_curve(std::int64_t utilization) const;

    Strategy strategy_ = Strategy::LeastAllocated;
    std::vector<std::pair<std::string, std::int64_t>> resources_;  // and weights
    std::vector<std::pair<std::int64_t, std::int64_t>> curve_;     // utilization in percent, ascending, and score
};

}  // namespace porthole::scheduler
