#pragma once
#include "kubelet/lifecycle/container_gc.h"
#include "kubelet/lifecycle/container_killer.h"
#include "kubelet/lifecycle/container_starter.h"
#include "kubelet/lifecycle/restart_backoff.h"
#include "kubelet/lifecycle/state_reader.h"

namespace porthole::kubelet {

/// Does to the containers of a pod what its worker has decided. All references outlive it and its tasks; `pod` and `state` outlive the
/// tasks that borrow them. Errors: the runtime's.
class PodContainers {
public:
    PodContainers(StateReader& reader, ImagePuller& puller, RestartBackoff& backoff, ContainerStarter& starter, ContainerKiller& killer,
                  ContainerGc& gc)
        : reader_(reader), puller_(puller), backoff_(backoff), starter_(starter), killer_(killer), gc_(gc) {}

    Task<PodRuntimeState> read(std::string uid) { return reader_.read(std::move(uid)); }
    /// Ends and removes the containers with these ids, without any grace, as all start again.
    Task<> reset(std::shared_ptr<const core::Pod> pod, const PodRuntimeState& state, std::vector<std::string> ids);
    Task<> kill(std::shared_ptr<const core::Pod> pod, const PodRuntimeState& state, std::vector<ContainerToKill> which);
    /// All of them, and the sandboxes. `grace` shortens the pod's own.
    Task<> kill_pod(std::shared_ptr<const core::Pod> pod, PodRuntimeState state, std::optional<Duration> grace = std::nullopt);
    /// In order; after an init container that does not start no other one is tried. Sets in `waiting` why containers do not run. Error also
    /// if the pod has no ready sandbox.
    Task<> start(PodStartContext context, std::vector<ContainerSpec> which, std::map<std::string, WaitingReason>& waiting);
    /// When the first delayed container of the pod may be retried; nullopt if there is none.
    std::optional<Duration> retry_after(const core::Pod& pod, const PodRuntimeState& state) const;
    /// Forgets the back-offs of a pod that is over.
    void forget_pod(const std::string& uid);
    StartCounts& counts() { return starter_.counts(); }

private:
    StateReader& reader_;
    ImagePuller& puller_;
    RestartBackoff& backoff_;
    ContainerStarter& starter_;
    ContainerKiller& killer_;
    ContainerGc& gc_;
};

}  // namespace porthole::kubelet
