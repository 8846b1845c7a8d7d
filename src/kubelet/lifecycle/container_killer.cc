#include "kubelet/lifecycle/container_killer.h"

#include <algorithm>

#include "base/result.h"
#include "base/time/bounded_seconds.h"
#include "schema/json/json.h"

namespace porthole::kubelet {
namespace {

using namespace std::chrono_literals;

constexpr Duration ShortestGrace = 2s;  // after a hook that used its time up

/// The container's place in the pod's spec; from its annotations where the spec is not known any more.
ContainerSpec spec_of(const core::Pod& pod, const cri::ContainerStatus& container) {
    if (auto spec = find_container(pod, name_of(container))) return std::move(*spec);
    ContainerSpec spec;
    spec.container.name = name_of(container);
    if (const auto hook = container.annotations.find(PreStopHandlerAnnotation); hook != container.annotations.end()) {
        if (auto handler = schema::decode_json<core::LifecycleHandler>(hook->second))
            spec.container.lifecycle.emplace().pre_stop = std::move(*handler);
    }
    return spec;
}

/// Sets the event of a turn when the last task of it has ended, however that was.
Task<> counted(Task<> task, std::shared_ptr<int> open, Event& ended) {
    auto result = co_await std::move(task);
    if (--*open == 0) ended.set();
    co_return result;
}

}  // namespace

Duration grace_period(const core::Pod& pod, std::optional<Duration> override_) {
    std::int64_t seconds = pod.spec.termination_grace_period_seconds.value_or(30);
    if (pod.metadata.deletion_grace_period_seconds) seconds = *pod.metadata.deletion_grace_period_seconds;
    Duration grace = bounded_seconds(seconds);
    if (override_) grace = std::min(grace, *override_);
    return std::max<Duration>(grace, 1s);
}

Task<> ContainerKiller::kill(std::shared_ptr<const core::Pod> pod, cri::ContainerStatus container, std::string message, Duration grace) {
    const ContainerSpec spec = spec_of(*pod, container);
    if (message.empty()) message = "Stopping container " + spec.container.name;
    events_.normal(reference_to(*pod, &spec), "Killing", message);
    CO_TRY(const Duration left, co_await run_pre_stop(pod, container, grace));
    cri::StopContainerRequest stop;
    stop.container_id = container.id;
    stop.timeout = std::chrono::ceil<std::chrono::seconds>(left).count();
    CO_TRY_VOID(ignore_not_found(co_await runtime_.stop_container(std::move(stop))));
    co_return {};
}

/// Yields what the hook has left of the grace period.
Task<Duration> ContainerKiller::run_pre_stop(std::shared_ptr<const core::Pod> pod, const cri::ContainerStatus& container, Duration grace) {
    const ContainerSpec spec = spec_of(*pod, container);
    if (!spec.container.lifecycle || !spec.container.lifecycle->pre_stop || grace == Duration::zero()) co_return grace;
    const MonotonicTime began = loop_.now();
    auto hooked = co_await with_timeout(
        hooks_.run(*spec.container.lifecycle->pre_stop, spec.container, container.id, pod->status.pod_ip, grace), grace, "preStop hook");
    if (is_cancelled(hooked)) co_return std::move(hooked).error();
    if (!hooked && hooked.error().reason != Reason::Timeout) {
        log_.warn("preStop hook failed", {{"pod", pod_key(*pod)}, {"container", spec.container.name}, {"error", hooked.error().message}});
        events_.warning(reference_to(*pod, &spec), "FailedPreStopHook", "PreStopHook failed");
    }
    co_return std::max(grace - (loop_.now() - began), ShortestGrace);
}

Task<> ContainerKiller::kill_in_turn(std::shared_ptr<const core::Pod> pod, cri::ContainerStatus container, Duration grace, std::size_t turn,
                                     std::shared_ptr<std::vector<std::unique_ptr<Event>>> turns, MonotonicTime began) {
    // The sidecars that started later, and all regular containers, end first; the grace period is one for all.
    for (std::size_t earlier = 0; earlier < turn; ++earlier) CO_TRY_VOID(co_await (*turns)[earlier]->wait());
    const Duration left = std::max<Duration>(grace - (loop_.now() - began), 1s);
    co_return co_await kill(pod, std::move(container), "", left);
}

Task<> ContainerKiller::kill_pod(std::shared_ptr<const core::Pod> pod, PodRuntimeState state, Duration grace) {
    // Turn 0: everything but sidecars; then each sidecar, the last of the spec first.
    std::vector<std::string> sidecars;
    for (auto at = pod->spec.init_containers.rbegin(); at != pod->spec.init_containers.rend(); ++at)
        if (is_sidecar(*at)) sidecars.push_back(at->name);
    auto turns = std::make_shared<std::vector<std::unique_ptr<Event>>>();
    std::vector<std::shared_ptr<int>> open;
    for (std::size_t i = 0; i <= sidecars.size(); ++i) {
        turns->push_back(std::make_unique<Event>());
        open.push_back(std::make_shared<int>(0));
    }
    const MonotonicTime began = loop_.now();
    std::vector<std::pair<std::size_t, const cri::ContainerStatus*>> ending;
    for (const cri::ContainerStatus& container : state.containers) {
        if (!is_running(container) && container.state != cri::ContainerState::ContainerUnknown) continue;
        const auto sidecar = std::find(sidecars.begin(), sidecars.end(), name_of(container));
        const std::size_t turn = sidecar == sidecars.end() ? 0 : 1 + static_cast<std::size_t>(sidecar - sidecars.begin());
        ending.emplace_back(turn, &container);
        ++*open[turn];
    }
    for (std::size_t i = 0; i < open.size(); ++i)
        if (*open[i] == 0) (*turns)[i]->set();
    std::vector<Task<>> tasks;
    for (const auto& [turn, container] : ending)
        tasks.push_back(counted(kill_in_turn(pod, *container, grace, turn, turns, began), open[turn], *(*turns)[turn]));
    CO_TRY(const auto results, co_await when_all(std::move(tasks)));
    for (const Result<void>& result : results)
        if (!result) co_return result.error();
    // Those that are not ready, too: after a reboot nobody has given back their networks yet.
    for (const cri::PodSandboxStatus& sandbox : state.sandboxes) {
        cri::StopPodSandboxRequest stop;
        stop.pod_sandbox_id = sandbox.id;
        CO_TRY_VOID(ignore_not_found(co_await runtime_.stop_pod_sandbox(std::move(stop))));
    }
    co_return {};
}

}  // namespace porthole::kubelet
