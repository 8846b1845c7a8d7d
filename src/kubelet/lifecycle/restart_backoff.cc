#include "kubelet/lifecycle/restart_backoff.h"

#include <algorithm>

#include "base/time/time.h"

namespace porthole::kubelet {
namespace {

std::string key_of(const core::Pod& pod, const core::Container& container) {
    return pod.metadata.uid + "_" + container.name + "_" + container_hash(container);
}

/// The wall-clock moment in the loop's own time.
MonotonicTime monotonic_of(const EventLoop& loop, std::int64_t nanoseconds_since_1970) {
    const Duration ago = loop.wall_now().time_since_epoch() - Duration(nanoseconds_since_1970);
    return loop.now() - std::max(ago, Duration::zero());
}

}  // namespace

std::optional<WaitingReason> RestartBackoff::hold_back(const core::Pod& pod, const PodRuntimeState& state, const ContainerSpec& spec) {
    const cri::ContainerStatus* newest = state.find_newest(spec.container.name);
    if (!newest || !is_exited(*newest)) return std::nullopt;
    const std::string key = key_of(pod, spec.container);
    if (!delay(pod, state, spec.container)) {
        delays_.next(key, loop_.now());
        return std::nullopt;
    }
    events_.warning(reference_to(pod, &spec), "BackOff",
                    "Back-off restarting failed container " + spec.container.name + " in pod " + pod_full_text(pod));
    const std::string seconds = format_duration(std::chrono::floor<std::chrono::seconds>(delays_.delay(key)));
    return WaitingReason{"CrashLoopBackOff",
                         "back-off " + seconds + " restarting failed container=" + spec.container.name + " pod=" + pod_full_text(pod)};
}

std::optional<Duration> RestartBackoff::delay(const core::Pod& pod, const PodRuntimeState& state, const core::Container& container) const {
    const cri::ContainerStatus* newest = state.find_newest(container.name);
    if (!newest || !is_exited(*newest)) return std::nullopt;
    const std::string key = key_of(pod, container);
    const MonotonicTime ended = monotonic_of(loop_, newest->finished_at);
    if (!delays_.is_waiting(key, ended, loop_.now())) return std::nullopt;
    return ended + delays_.delay(key) - loop_.now();
}

}  // namespace porthole::kubelet
