#pragma once
#include <cstdint>
#include <set>

#include "kubelet/pod/pod.h"

namespace porthole::kubelet {

/// The current result of a container's probes, by container id.
enum class ProbeVerdict { Unknown, Success, Failure };
/// Looks up results; see ProbeManager::verdicts().
struct ProbeVerdicts {
    std::function<ProbeVerdict(const std::string& container_id)> startup, liveness, readiness;
};

/// A container to end, and why.
struct ContainerToKill {
    std::string id, name;
    std::string message;          ///< the event's text
    bool failed_startup = false;  ///< its grace period is that probe's
    bool failed_liveness = false;
    bool restart = true;  ///< counts as a failure that is followed by a new start
};

/// A running container whose cpu and memory are to be changed to its pod's, without a restart.
struct ContainerToResize {
    std::string id;
    core::Container container;
};

/// One step that brings the runtime's state nearer to the spec's.
struct PodActions {
    bool kill_pod = false;  ///< stop the sandbox and everything in it first
    bool create_sandbox = false;
    bool sandbox_changed = false;  ///< there was one before: worth an event
    std::string sandbox_id;        ///< the one to use, or the one to replace
    std::uint32_t attempt = 0;     ///< of a new sandbox
    std::vector<ContainerToKill> containers_to_kill;
    std::vector<ContainerToResize> containers_to_resize;
    bool resize_pod = false;                         ///< the pod-level resources have changed
    std::vector<ContainerSpec> containers_to_start;  ///< in order; each waits for the one before
    /// Ids, in this order, of containers to end immediately and remove from the runtime, so that all start again; no other action is taken
    /// then.
    std::vector<std::string> containers_to_reset;

    bool empty() const {
        return !kill_pod && !create_sandbox && containers_to_kill.empty() && containers_to_resize.empty() && !resize_pod &&
               containers_to_start.empty() && containers_to_reset.empty();
    }
};

/// The next step for a pod that should run. Pure; safe to repeat.
///
/// A container whose end restarts all containers comes first. Then the sandbox; then init containers one by one, where a sidecar counts as
/// done once it has started; then all regular containers. Resources of running containers are changed in place, or by a restart if their
/// resize policy requires it. Ended containers are restarted according to their restart policy. A pod whose containers have all ended gets
/// kill_pod.
PodActions compute_actions(const core::Pod& pod, const PodRuntimeState& state, const ProbeVerdicts& probes);

/// Whether a container that is not running must be started (again): by its own policy and rules before the pod's.
bool should_restart(const core::Pod& pod, const core::Container& container, const PodRuntimeState& state);
/// Whether a container is restarted after this end: by its rules, its policy, or the pod's.
bool wants_restart(const core::Pod& pod, const core::Container& container, std::int32_t exit_code);
/// Whether the runtime has a container whose end restarts all containers of the pod (KEP-5532).
bool is_restarting_all(const core::Pod& pod, const PodRuntimeState& state);
/// Whether the sandbox must be created (again), and with which attempt.
struct SandboxNeed {
    bool create = false;
    std::uint32_t attempt = 0;
    std::string old_id;
};
SandboxNeed sandbox_need(const core::Pod& pod, const PodRuntimeState& state);
/// A container counts as started once its startup probe has passed, or immediately without one.
bool has_started(const core::Container& container, const cri::ContainerStatus& status, const ProbeVerdicts& probes);
/// The restart policy in force for a container: its own, else (an init container is not restarted by Always) the pod's.
std::string effective_restart_policy(const core::Pod& pod, const core::Container& container);

}  // namespace porthole::kubelet
