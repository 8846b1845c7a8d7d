#include "controllers/horizontal_pod_autoscaler/horizontal_pod_autoscaler.h"

#include <algorithm>

#include "base/result.h"
#include "net/http/http.h"
#include "objects/conditions.h"

namespace porthole::controllers {

using api::core::v1::Pod;
using client::Requeue;
using namespace api::autoscaling::v2;

namespace {

/// Autoscalers that a message names. Differs from Kubernetes, which names all in the status of each of them.
constexpr std::size_t MostNamed = 20;
constexpr int MostScaleWrites = 5;
constexpr const char *AbleToScale = "AbleToScale", *ScalingActive = "ScalingActive", *ScalingLimited = "ScalingLimited";

Tolerances tolerances_of(const HorizontalPodAutoscaler& autoscaler) {
    Tolerances tolerances;
    const auto& behavior = autoscaler.spec.behavior;
    if (behavior && behavior->scale_up && behavior->scale_up->tolerance) tolerances.scale_up = behavior->scale_up->tolerance->as_double();
    if (behavior && behavior->scale_down && behavior->scale_down->tolerance)
        tolerances.scale_down = behavior->scale_down->tolerance->as_double();
    return tolerances;
}

std::int32_t min_replicas(const HorizontalPodAutoscaler& autoscaler) { return autoscaler.spec.min_replicas.value_or(1); }

const HorizontalPodAutoscalerBehavior* behavior_of(const HorizontalPodAutoscaler& autoscaler) {
    return autoscaler.spec.behavior ? &*autoscaler.spec.behavior : nullptr;
}

}  // namespace

HorizontalPodAutoscalerController::HorizontalPodAutoscalerController(Context& context)
    : Controller(context.loop, context.log, {.name = "horizontal-pod-autoscaler-controller", .workers = 5}),
      client_(context.client),
      events_(context.events.get("horizontal-pod-autoscaler")),
      autoscalers_(context.informers.get<Autoscaler>()),
      names_(context.client, context.kinds),
      metrics_(context.loop, MetricsClient(context.client, names_), StartRules()) {
    // Updates, those of its own status among them, wait for the next period.
    depends_on(autoscalers_)
        .subscribe({.added = [this](const auto& added) { queue().add_after(client::key_of(*added), SyncPeriod); },
                    .deleted = [this](const auto& deleted) { queue().add(client::key_of(*deleted)); }});
}

Task<Requeue> HorizontalPodAutoscalerController::reconcile(client::NamespacedName key) {
    const auto stored = autoscalers_.find(key);
    if (!stored) {
        memory_.erase(key);
        co_return Requeue::never();
    }
    Autoscaler changed = *stored;
    const auto synced = co_await sync(changed, memory_[key]);  // which nobody else erases meanwhile: reconciles of a key do not overlap
    if (is_cancelled(synced)) co_return synced.error();
    if (!synced) log().debug("an autoscaler cannot do its work", {{"autoscaler", key.text()}, {"error", synced.error().message}});
    if (changed.status != stored->status) {
        const auto written = co_await client_.update_status(changed);
        if (is_cancelled(written)) co_return written.error();
        if (!written && !is_not_found(written)) events_.warning(*stored, "FailedUpdateStatus", written.error().message);
    }
    co_return Requeue::in(SyncPeriod);
}

void HorizontalPodAutoscalerController::set_condition(Autoscaler& autoscaler, const char* type, bool status, std::string reason,
                                                      std::string message) const {
    HorizontalPodAutoscalerCondition condition{
        .type = type, .status = status ? "True" : "False", .reason = std::move(reason), .message = std::move(message)};
    objects::set_condition(autoscaler.status.conditions, std::move(condition), Timestamp(loop().wall_now()));
}

Task<HorizontalPodAutoscalerController::Target> HorizontalPodAutoscalerController::find_target(const Autoscaler& autoscaler) {
    const CrossVersionObjectReference& reference = autoscaler.spec.scale_target_ref;
    if (std::ranges::count(reference.api_version, '/') > 1)
        co_return Error(Reason::BadRequest, "unexpected GroupVersion string: " + reference.api_version);
    CO_TRY(const ResourceName name, co_await names_.find(group_of_api_version(reference.api_version), reference.kind));
    Target target;
    target.path = name.scale_path(autoscaler.metadata.namespace_, reference.name);
    CO_TRY(const net::Bytes body, co_await client_.get_raw(target.path));
    CO_TRY(target.scale, schema::decode_json<Scale>(*body));
    co_return target;
}

Task<> HorizontalPodAutoscalerController::sync(Autoscaler& autoscaler, Memory& memory) {
    auto target = co_await find_target(autoscaler);
    if (is_cancelled(target)) co_return target.error();
    if (!target) {
        const std::string& why = target.error().message;
        events_.warning(autoscaler, "FailedGetScale", why);
        set_condition(autoscaler, AbleToScale, false, "FailedGetScale",
                      "the HPA controller was unable to get the target's current scale: " + why);
        co_return target.error();
    }
    set_condition(autoscaler, AbleToScale, true, "SucceededGetScale", "the HPA controller was able to get the target's current scale");
    const std::int32_t current = target->scale.spec.replicas;
    memory.limits.begin(current, loop().now());
    autoscaler.status.current_replicas = current;

    std::int32_t desired = current;
    std::string reason, failure;
    if (current == 0 && min_replicas(autoscaler) != 0) {
        set_condition(autoscaler, ScalingActive, false, "ScalingDisabled",
                      "scaling is disabled since the replica count of the target is zero");
        autoscaler.status.current_metrics.clear();
    } else if (current > autoscaler.spec.max_replicas) {
        desired = autoscaler.spec.max_replicas;
        reason = "Current number of replicas above Spec.MaxReplicas";
        autoscaler.status.current_metrics.clear();
    } else if (current < min_replicas(autoscaler)) {
        desired = min_replicas(autoscaler);
        reason = "Current number of replicas below Spec.MinReplicas";
        autoscaler.status.current_metrics.clear();
    } else {
        CO_TRY(const Wanted wanted, co_await compute(autoscaler, memory, target->scale));
        failure = wanted.failure;
        if (!wanted.replicas) {
            events_.warning(autoscaler, "FailedComputeMetricsReplicas", failure);
            co_return Error(Reason::ServiceUnavailable, failure);
        }
        if (*wanted.replicas > current) reason = wanted.metric + " above target";
        if (*wanted.replicas < current) reason = "All metrics below target";
        desired = limit(autoscaler, memory, current, *wanted.replicas);
    }
    if (desired != current) CO_TRY_VOID(co_await rescale(autoscaler, memory, std::move(*target), desired, std::move(reason)));
    autoscaler.status.desired_replicas = desired;
    if (!failure.empty()) co_return Error(Reason::ServiceUnavailable, failure);
    co_return {};
}

Task<PodList> HorizontalPodAutoscalerController::select_pods(Autoscaler& autoscaler, Memory& memory, const std::string& selector) {
    const auto refuse = [&](const char* event, const char* reason, const std::string& why, const std::string& condition) {
        events_.warning(autoscaler, event, why);
        set_condition(autoscaler, ScalingActive, false, reason, condition);
        return Error(Reason::BadRequest, why);
    };
    if (selector.empty())
        co_return refuse("SelectorRequired", "InvalidSelector", "selector is required", "the HPA target's scale is missing a selector");
    auto listed = co_await client_.list<Pod>({.namespace_ = autoscaler.metadata.namespace_, .label_selector = selector});
    if (is_cancelled(listed)) co_return listed.error();
    if (!listed) {
        const std::string why = "couldn't convert selector into a corresponding internal selector object: " + listed.error().message;
        co_return refuse("InvalidSelector", "InvalidSelector", why, why);
    }
    memory.pods.clear();
    for (const Pod& pod : listed->items) memory.pods.insert(pod.metadata.name);

    std::string names;
    std::size_t named = 0;
    bool ambiguous = false;
    const std::string& namespace_ = autoscaler.metadata.namespace_;
    for (auto at = memory_.lower_bound({namespace_, ""}); at != memory_.end() && at->first.namespace_ == namespace_; ++at) {
        const auto& [key, other] = *at;
        const bool shares = std::ranges::any_of(other.pods, [&](const std::string& pod) { return memory.pods.contains(pod); });
        if (!shares) continue;
        ambiguous = ambiguous || &other != &memory;
        const bool is_last = ++named > MostNamed;
        names += (names.empty() ? "" : " ") + (is_last ? "..." : key.text());
        if (is_last) break;
    }
    if (ambiguous) {
        const std::string why = "pods by selector " + selector + " are controlled by multiple HPAs: [" + names + "]";
        co_return refuse("AmbiguousSelector", "AmbiguousSelector", why, why);
    }
    co_return std::move(listed->items);
}

Task<HorizontalPodAutoscalerController::Wanted> HorizontalPodAutoscalerController::compute(Autoscaler& autoscaler, Memory& memory,
                                                                                           const Scale& scale) {
    Wanted wanted;
    auto pods = co_await select_pods(autoscaler, memory, scale.status.selector);
    if (is_cancelled(pods)) co_return pods.error();
    if (!pods) {
        wanted.failure = pods.error().message;
        autoscaler.status.current_metrics.clear();
        co_return wanted;
    }
    const MetricTargetPods target{.namespace_ = autoscaler.metadata.namespace_,
                                  .selector = scale.status.selector,
                                  .pods = std::move(*pods),
                                  .spec_replicas = scale.spec.replicas,
                                  .status_replicas = scale.status.replicas,
                                  .tolerances = tolerances_of(autoscaler)};
    const std::vector<MetricSpec>& metrics = autoscaler.spec.metrics;
    std::vector<MetricStatus> statuses(metrics.size());
    std::size_t failed = 0;
    std::string first_reason, first_message, first_summary;
    for (std::size_t i = 0; i < metrics.size(); ++i) {
        auto proposal = co_await metrics_.evaluate(metrics[i], target);
        if (is_cancelled(proposal)) co_return proposal.error();
        if (proposal) {
            statuses[i] = std::move(proposal->status);
            if (wanted.replicas && proposal->replicas <= *wanted.replicas) continue;
            wanted.replicas = proposal->replicas;
            wanted.metric = std::move(proposal->name);
            continue;
        }
        const std::string& why = proposal.error().message;
        events_.warning(autoscaler, failure_reason(metrics[i]), why);
        if (failed++ > 0) continue;
        first_reason = failure_reason(metrics[i]);
        first_message = "the HPA was unable to compute the replica count: " + why;
        first_summary = failure_summary(metrics[i]) + why;
    }
    autoscaler.status.current_metrics = std::move(statuses);
    if (failed > 0)
        wanted.failure = "invalid metrics (" + std::to_string(failed) + " invalid out of " + std::to_string(metrics.size()) +
                         "), first error is: " + first_summary;
    // What cannot be seen might need the pods that there are.
    if (!wanted.replicas || (failed > 0 && *wanted.replicas < scale.spec.replicas)) {
        wanted.replicas.reset();
        set_condition(autoscaler, ScalingActive, false, first_reason, first_message);
    } else {
        set_condition(autoscaler, ScalingActive, true, "ValidMetricFound",
                      "the HPA was able to successfully calculate a replica count from " + wanted.metric);
    }
    co_return wanted;
}

std::int32_t HorizontalPodAutoscalerController::limit(Autoscaler& autoscaler, Memory& memory, std::int32_t current, std::int32_t desired) {
    const LimitedReplicas limited = memory.limits.limit(
        behavior_of(autoscaler), current, desired, {.min = min_replicas(autoscaler), .max = autoscaler.spec.max_replicas}, loop().now());
    set_condition(autoscaler, AbleToScale, true, limited.able.reason, limited.able.message);
    set_condition(autoscaler, ScalingLimited, limited.limited, limited.range.reason, limited.range.message);
    return limited.replicas;
}

/// Whatever else has changed of the target while the metrics were read, such as its status.
Task<> HorizontalPodAutoscalerController::write_size(Target target, std::int32_t replicas) {
    for (int attempt = 1;; ++attempt) {
        target.scale.spec.replicas = replicas;
        const auto written = co_await client_.put_raw(target.path, schema::encode_json(target.scale));
        if (written) co_return {};
        if (written.error().reason != Reason::Conflict || attempt == MostScaleWrites) co_return written.error();
        CO_TRY(const net::Bytes body, co_await client_.get_raw(target.path));
        CO_TRY(target.scale, schema::decode_json<Scale>(*body));
    }
}

Task<> HorizontalPodAutoscalerController::rescale(Autoscaler& autoscaler, Memory& memory, Target target, std::int32_t replicas,
                                                  std::string reason) {
    const std::int32_t before = target.scale.spec.replicas;
    const std::string told = "New size: " + std::to_string(replicas) + "; reason: " + reason;
    const auto written = co_await write_size(std::move(target), replicas);
    if (is_cancelled(written)) co_return written.error();
    if (!written) {
        events_.warning(autoscaler, "FailedRescale", told + "; error: " + written.error().message);
        set_condition(autoscaler, AbleToScale, false, "FailedUpdateScale",
                      "the HPA controller was unable to update the target scale: " + written.error().message);
        co_return written.error();
    }
    set_condition(autoscaler, AbleToScale, true, "SucceededRescale",
                  "the HPA controller was able to update the target scale to " + std::to_string(replicas));
    events_.normal(autoscaler, "SuccessfulRescale", told);
    memory.limits.note_change(behavior_of(autoscaler), before, replicas, loop().now());
    autoscaler.status.last_scale_time = Timestamp(loop().wall_now());
    co_return {};
}

Result<ControllerPtr> make_horizontal_pod_autoscaler(Context& context) {
    return make_controller<HorizontalPodAutoscalerController>(context);
}

}  // namespace porthole::controllers
