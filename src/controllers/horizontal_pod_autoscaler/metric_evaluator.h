#pragma once
#include <string>

#include "api/autoscaling_v2.h"
#include "controllers/horizontal_pod_autoscaler/metrics_client.h"

namespace porthole::controllers {

/// The result for one metric of an autoscaler.
struct MetricProposal {
    std::int32_t replicas = 0;
    std::string name;  ///< in events: "cpu resource utilization (percentage of request)"
    api::autoscaling::v2::MetricStatus status;
};

/// The target that it is computed for.
struct MetricTargetPods {
    std::string namespace_, selector;
    PodList pods;
    std::int32_t spec_replicas = 0, status_replicas = 0;
    Tolerances tolerances;
};

/// Computes how many pods a metric calls for. References outlive its tasks.
class MetricEvaluator {
public:
    using MetricSpec = api::autoscaling::v2::MetricSpec;

    MetricEvaluator(EventLoop& loop, MetricsClient metrics, StartRules rules) : loop_(loop), metrics_(metrics), rules_(rules) {}

    /// Error: why it cannot be computed, with upstream's message.
    Task<MetricProposal> evaluate(const MetricSpec& metric, const MetricTargetPods& target);

private:
    Task<MetricProposal> resource(const std::string& name, const std::string& container, const api::autoscaling::v2::MetricTarget& wanted,
                                  const MetricTargetPods& target);
    Task<MetricProposal> pods(const MetricSpec& metric, const MetricTargetPods& target);
    Task<MetricProposal> object(const MetricSpec& metric, const MetricTargetPods& target);
    Task<MetricProposal> external(const MetricSpec& metric, const MetricTargetPods& target);

    EventLoop& loop_;
    MetricsClient metrics_;
    StartRules rules_;
};

/// The reason of events and conditions when the metric cannot be computed: "FailedGetResourceMetric".
std::string failure_reason(const MetricEvaluator::MetricSpec& metric);
/// The text before the error in the event that summarizes all failures.
std::string failure_summary(const MetricEvaluator::MetricSpec& metric);

}  // namespace porthole::controllers
