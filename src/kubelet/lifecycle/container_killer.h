#pragma once
#include "base/log.h"
#include "client/events.h"
#include "kubelet/lifecycle/hooks.h"
#include "kubelet/pod/actions.h"
#include "runtime/scope.h"

namespace porthole::kubelet {

/// Ends containers: preStop hook, stop signal, and after the grace period a kill. All references outlive it and its tasks. Errors: the
/// runtime's; a container that no longer exists is a success.
class ContainerKiller {
public:
    ContainerKiller(EventLoop& loop, RuntimeService& runtime, ContainerHooks& hooks, client::EventRecorder& events, Logger log)
        : loop_(loop), runtime_(runtime), hooks_(hooks), events_(events), log_(std::move(log)) {}

    /// Ends one container. `grace` is the total time, including the hook, which does not run if it is zero. `message` goes into the event.
    Task<> kill(std::shared_ptr<const core::Pod> pod, cri::ContainerStatus container, std::string message, Duration grace);
    /// All running containers concurrently, then sidecars in reverse order; then all sandboxes.
    Task<> kill_pod(std::shared_ptr<const core::Pod> pod, PodRuntimeState state, Duration grace);

private:
    Task<> kill_in_turn(std::shared_ptr<const core::Pod> pod, cri::ContainerStatus container, Duration grace, std::size_t turn,
                        std::shared_ptr<std::vector<std::unique_ptr<Event>>> turns, MonotonicTime began);
    Task<Duration> run_pre_stop(std::shared_ptr<const core::Pod> pod, const cri::ContainerStatus& container, Duration grace);

    EventLoop& loop_;
    RuntimeService& runtime_;
    ContainerHooks& hooks_;
    client::EventRecorder& events_;
    Logger log_;
};

/// The grace period in force: the deletion's, else the spec's, each cut by `override_`; at least one second.
Duration grace_period(const core::Pod& pod, std::optional<Duration> override_);

}  // namespace porthole::kubelet
