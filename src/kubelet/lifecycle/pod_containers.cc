#include "kubelet/lifecycle/pod_containers.h"

#include <algorithm>

#include "base/result.h"
#include "base/time/bounded_seconds.h"

namespace porthole::kubelet {
namespace {

/// That of the probe that failed, if it has one, else the pod's.
Duration grace_of(const core::Pod& pod, const ContainerToKill& kill) {
    const auto spec = find_container(pod, kill.name);
    if (spec && (kill.failed_startup || kill.failed_liveness)) {
        const auto& probe = kill.failed_startup ? spec->container.startup_probe : spec->container.liveness_probe;
        if (probe && probe->termination_grace_period_seconds) return bounded_seconds(*probe->termination_grace_period_seconds);
    }
    return grace_period(pod, std::nullopt);
}

}  // namespace

Task<> PodContainers::reset(std::shared_ptr<const core::Pod> pod, const PodRuntimeState& state, std::vector<std::string> ids) {
    for (const std::string& id : ids) {
        const cri::ContainerStatus* container = state.find_by_id(id);
        if (!container) continue;
        if (!is_exited(*container)) CO_TRY_VOID(co_await killer_.kill(pod, *container, "", Duration::zero()));
        CO_TRY_VOID(co_await gc_.remove_container(id));
    }
    co_return {};
}

Task<> PodContainers::kill(std::shared_ptr<const core::Pod> pod, const PodRuntimeState& state, std::vector<ContainerToKill> which) {
    for (const ContainerToKill& kill : which)
        if (const cri::ContainerStatus* container = state.find_by_id(kill.id))
            CO_TRY_VOID(co_await killer_.kill(pod, *container, kill.message, grace_of(*pod, kill)));
    co_return {};
}

Task<> PodContainers::kill_pod(std::shared_ptr<const core::Pod> pod, PodRuntimeState state, std::optional<Duration> grace) {
    const Duration in_force = grace_period(*pod, grace);
    return killer_.kill_pod(std::move(pod), std::move(state), in_force);
}

Task<> PodContainers::start(PodStartContext context, std::vector<ContainerSpec> which, std::map<std::string, WaitingReason>& waiting) {
    if (!context.state.ready_sandbox()) co_return Error(Reason::Unavailable, "the pod's sandbox is not ready");
    for (const ContainerSpec& spec : which) {
        auto failure = backoff_.hold_back(*context.pod, context.state, spec);
        if (!failure) {
            CO_TRY(failure, co_await starter_.start(context, spec));
        }
        if (failure) {
            waiting[spec.container.name] = std::move(*failure);
            if (spec.kind == ContainerKind::Init) co_return {};
        } else {
            waiting.erase(spec.container.name);
        }
    }
    co_return {};
}

std::optional<Duration> PodContainers::retry_after(const core::Pod& pod, const PodRuntimeState& state) const {
    std::optional<Duration> soonest = puller_.retry_after(pod.metadata.uid);
    for (const ContainerSpec& spec : all_containers(pod)) {
        const auto delay = backoff_.delay(pod, state, spec.container);
        if (delay && (!soonest || *delay < *soonest)) soonest = delay;
    }
    return soonest;
}

void PodContainers::forget_pod(const std::string& uid) {
    backoff_.forget_pod(uid);
    puller_.forget_pod(uid);
}

}  // namespace porthole::kubelet
