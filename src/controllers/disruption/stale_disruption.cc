#include "controllers/disruption/stale_disruption.h"

#include "base/result.h"
#include "objects/conditions.h"
#include "objects/pods.h"

namespace porthole::controllers {

using api::core::v1::Pod;
using api::core::v1::PodCondition;
using client::Requeue;

namespace {

constexpr Duration Timeout = std::chrono::minutes(2);

/// Null if no disruption is announced, or the kubelet has announced it: it ends the pod before the pod is deleted, which may take any time.
const PodCondition* announced_disruption(const Pod& pod) {
    if (objects::is_terminating(pod) || objects::is_terminal(pod)) return nullptr;
    const PodCondition* condition = objects::find_condition(pod.status.conditions, "DisruptionTarget");
    return condition && condition->status == "True" && condition->reason != "TerminationByKubelet" ? condition : nullptr;
}

}  // namespace

StaleDisruptionController::StaleDisruptionController(Context& context)
    : Controller(context.loop, context.log, {.name = "stale-pod-disruption"}),
      client_(context.client),
      pods_(context.informers.get<Pod>()) {
    depends_on(pods_).on_change([this](const Pod& pod) {
        if (announced_disruption(pod)) queue().add(client::key_of(pod));
    });
}

Task<Requeue> StaleDisruptionController::reconcile(client::NamespacedName key) {
    const auto pod = pods_.find(key);
    const PodCondition* announced = pod ? announced_disruption(*pod) : nullptr;
    if (!announced) co_return Requeue::never();
    const SystemTime now = loop().wall_now();
    const Duration left = announced->last_transition_time.to_system_time() + Timeout - now;
    if (left > Duration::zero()) co_return Requeue::in(left);
    Pod changed = *pod;
    objects::set_condition(changed.status.conditions,
                           {.type = "DisruptionTarget", .observed_generation = pod->metadata.generation, .status = "False"},
                           Timestamp(now));
    CO_TRY_VOID(ignore_not_found(co_await client_.update_status(std::move(changed))));
    co_return Requeue::never();
}

Result<ControllerPtr> make_stale_pod_disruption(Context& context) { return make_controller<StaleDisruptionController>(context); }

}  // namespace porthole::controllers
