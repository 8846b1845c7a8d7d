#pragma once
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/core_v1.h"
#include "runtime/event_loop.h"

namespace porthole::controllers {

/// A metric's value for one pod.
struct PodMetric {
    Timestamp time;
    Duration window{};
    std::int64_t value = 0;  ///< in thousandths
};
/// By the pod's name.
using PodMetricValues = std::map<std::string, PodMetric>;
using PodList = std::vector<api::core::v1::Pod>;

/// How far the load may be from the target without a change, as parts of the target.
struct Tolerances {
    double scale_down = 0.1, scale_up = 0.1;
    bool holds(double ratio) const { return ratio >= 1 - scale_down && ratio <= 1 + scale_up; }
};

/// When the processor time of a starting pod is not believed: flags of kube-controller-manager with their defaults.
struct StartRules {
    Duration cpu_initialization = std::chrono::minutes(5);  ///< while a pod that is not ready, or has just become so, does not count
    Duration initial_readiness = std::chrono::seconds(30);  ///< a pod that became unready within it has never been ready
};

/// Pods by the state of their metrics, as upstream's groupPods().
struct PodGroups {
    int ready = 0;
    std::set<std::string> unready;  ///< pending, or still starting
    std::set<std::string> missing;  ///< without the metric
    std::set<std::string> ignored;  ///< going, or failed
};
PodGroups group_pods(const PodList& pods, const PodMetricValues& metrics, const std::string& resource, const StartRules& rules,
                     SystemTime now);

/// The number of pods that a metric requires, and its current value.
struct Proposal {
    std::int32_t replicas = 0;
    std::optional<std::int32_t> utilization;  ///< per cent
    std::int64_t usage = 0;                   ///< in thousandths; of an average pod where the target is an average
};

/// Pods' requests for a resource, in thousandths, for all their containers or the named one. Error: BadRequest with upstream's message, for
/// a container without a request.
Result<std::map<std::string, std::int64_t>> requests_of(const PodList& pods, const std::string& resource, const std::string& container);

/// For pods' use as a percentage of their requests. Errors, here and below: BadRequest with upstream's message.
Result<Proposal> propose_by_utilization(std::int32_t current, const PodList& pods, const PodGroups& groups, PodMetricValues metrics,
                                        const std::map<std::string, std::int64_t>& requests, std::int32_t target,
                                        const Tolerances& tolerances);
/// For the average amount of a pod.
Result<Proposal> propose_by_average(std::int32_t current, const PodList& pods, const PodGroups& groups, PodMetricValues metrics,
                                    std::int64_t target, const Tolerances& tolerances);
/// For an amount that is not measured per pod, in proportion to the ready pods.
Result<Proposal> propose_by_value(std::int32_t current, const PodList& pods, std::int64_t usage, std::int64_t target,
                                  const Tolerances& tolerances);
/// For such an amount divided by the number of existing pods.
Proposal propose_by_share(std::int32_t status_replicas, std::int64_t usage, std::int64_t target, const Tolerances& tolerances);

}  // namespace porthole::controllers
