#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>

#include "api/autoscaling_v1.h"
#include "api/autoscaling_v2.h"
#include "controllers/framework/context.h"
#include "controllers/horizontal_pod_autoscaler/metric_evaluator.h"
#include "controllers/horizontal_pod_autoscaler/scaling_limits.h"

namespace porthole::controllers {

/// Changes the number of pods of the target of each HorizontalPodAutoscaler, through the subresource scale, according to its metrics.
/// Processes each autoscaler every 15 seconds: docs/design/autoscaling.md.
class HorizontalPodAutoscalerController final : public client::Controller {
public:
    static constexpr const char* Account = "horizontal-pod-autoscaler";
    static constexpr Duration SyncPeriod = std::chrono::seconds(15);
    explicit HorizontalPodAutoscalerController(Context& context);

private:
    using Autoscaler = api::autoscaling::v2::HorizontalPodAutoscaler;
    using Scale = api::autoscaling::v1::Scale;

    /// The state kept for one autoscaler.
    struct Memory {
        ScalingLimits limits;
        std::set<std::string> pods;  ///< that it selected last; by name
    };
    /// The workload's scale, and where it is.
    struct Target {
        std::string path;
        Scale scale;
    };
    /// The combined result of all metrics.
    struct Wanted {
        std::optional<std::int32_t> replicas;  ///< none when too few metrics can be computed
        std::string metric;                    ///< the one that calls for the most
        std::string failure;                   ///< of metrics that cannot be computed
    };

    Task<client::Requeue> reconcile(client::NamespacedName key) override;
    /// One step: the target's scale and the object's status. Error: the failure that conditions and events report, for the log.
    Task<> sync(Autoscaler& autoscaler, Memory& memory);
    Task<Target> find_target(const Autoscaler& autoscaler);
    /// Fills status.currentMetrics and the condition ScalingActive. Error: Cancelled.
    Task<Wanted> compute(Autoscaler& autoscaler, Memory& memory, const Scale& scale);
    Task<PodList> select_pods(Autoscaler& autoscaler, Memory& memory, const std::string& selector);
    /// Within the limits; fills the conditions AbleToScale and ScalingLimited.
    std::int32_t limit(Autoscaler& autoscaler, Memory& memory, std::int32_t current, std::int32_t desired);
    Task<> write_size(Target target, std::int32_t replicas);
    Task<> rescale(Autoscaler& autoscaler, Memory& memory, Target target, std::int32_t replicas, std::string reason);
    void set_condition(Autoscaler& autoscaler, const char* type, bool status, std::string reason, std::string message) const;

    client::Client& client_;
    client::EventRecorder& events_;
    client::Informer<Autoscaler>& autoscalers_;
    const ResourceNames names_;
    MetricEvaluator metrics_;
    std::map<client::NamespacedName, Memory> memory_;
};

}  // namespace porthole::controllers
