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

/// What a metric says of one pod.
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

/// Pods by what can be said of them, as upstream's groupPods().
struct PodGroups {
    int ready = 0;
    std::set<std::string> unready;  ///< pending, or still starting
    std::set<std::string> missing;  ///< without the metric
    std::set<std::string> ignored;  ///< going, or failed
};
PodGroups group_pods(const PodList& pods, const PodMetricValues& metrics, const std::string& resource, const StartRules& rules,
                     SystemTime now);

/// How many pods a metric calls for, and what it is at present.
struct Proposal {
    std::int32_t replicas = 0;
    std::optional<std::int32_t> utilization;  ///< per cent
    std::int64_t usage = 0;                   ///< in thousandths; of an average pod where the target is an average
};

/// What pods request of a resource, in thousandths: all their containers, or the one named. Error: BadRequest, in upstream's words, for a
/// container that requests none.
Result<std::map<std::string, std::int64_t>> requests_of(const PodList& pods, const std::string& resource, const std::string& container);

/// For what pods use in per cent of what they request. Errors, here and below: BadRequest, in upstream's words.
Result<Proposal> propose_by_utilization(std::int32_t current, const PodList& pods, const PodGroups& groups, PodMetricValues metrics,
                                        const std::map<std::string, std::int64_t>& requests, std::int32_t target,
                                        const Tolerances& tolerances);
/// For the average amount of a pod.
Result<Proposal> propose_by_average(std::int32_t current, const PodList& pods, const PodGroups& groups, PodMetricValues metrics,
                                    std::int64_t target, const Tolerances& tolerances);
/// For an amount that is not of pods, in proportion to those that are ready.
Result<Proposal> propose_by_value(std::int32_t current, const PodList& pods, std::int64_t usage, std::int64_t target,
                                  const Tolerances& tolerances);
/// For such an amount divided by the pods that there are.
Proposal propose_by_share(std::int32_t status_replicas, std::int64_t usage, std::int64_t target, const Tolerances& tolerances);

}  // namespace porthole::controllers
