#pragma once
#include "kubelet/pod/actions.h"

namespace porthole::kubelet {

/// Why a container does not run, as its status shows it: "ErrImagePull", "CrashLoopBackOff", …
struct WaitingReason {
    std::string reason, message;
    bool operator==(const WaitingReason&) const = default;
};

/// The input of a pod's status. Borrows the references.
struct StatusInputs {
    const core::Pod& pod;
    const PodRuntimeState& state;
    const ProbeVerdicts& probes;
    const std::map<std::string, WaitingReason>& waiting;  ///< by container
    const core::PodStatus& previous;                      ///< the last one, for facts that the runtime no longer has
    std::vector<std::string> host_addresses;              ///< the node's, the main one first
    std::string runtime_name;                             ///< "containerd"
    bool finishing = false;                               ///< the pod is being ended: stopped containers stay stopped
    bool terminated = false;                              ///< no container is left running
    SystemTime now;
};

/// The complete status from the runtime's state. Conditions that the kubelet does not own are copied from `previous`.
core::PodStatus generate_status(const StatusInputs& inputs);

/// The phase that follows from container statuses; with `finishing`, a pod whose containers have ended becomes Succeeded or Failed.
std::string phase_of(const core::Pod& pod, const core::PodStatus& status, bool finishing);
bool is_terminal_phase(const std::string& phase);

/// Sets the conditions Initialized, Ready, ContainersReady, PodReadyToStartContainers and PodScheduled, keeping transition times.
void update_conditions(const core::Pod& pod, core::PodStatus& status, bool has_sandbox, SystemTime now);

/// Reasons of waiting containers, if the pod has no more specific one.
inline constexpr const char* ContainerCreating = "ContainerCreating";
inline constexpr const char* PodInitializing = "PodInitializing";
inline constexpr const char* RestartingAllContainers = "RestartingAllContainers";
inline constexpr const char* ContainerStatusUnknown = "ContainerStatusUnknown";

}  // namespace porthole::kubelet
