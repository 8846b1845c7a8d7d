#pragma once
#include "kubelet/pod/rejection.h"
#include "kubelet/pod/resources.h"
#include "windows/support.h"

namespace porthole::kubelet {

/// The node's resources, and the pods that use them already.
struct AdmissionContext {
    std::map<std::string, std::string> node_labels;
    ResourceList allocatable;
    std::string operating_system;                          ///< "linux"
    std::vector<std::shared_ptr<const core::Pod>> active;  ///< admitted before
    bool memory_pressure = false;
    bool prepares_devices = false;  ///< of ResourceClaims
    bool identify_pod_os = true;    ///< whether spec.os counts
    bool app_armor = false;         ///< the kernel enforces its profiles
};

/// The last check before a pod's first container: nullopt if it may run. `verdict` is that of its original spec; empty except on Windows.
std::optional<Rejection> admit(const core::Pod& pod, const windows::Verdict& verdict, const AdmissionContext& context);

/// Whether a running pod may have its newly requested resources: nullopt, or the reason of its condition PodResizePending. That is Deferred
/// if there is room once other pods have ended, and Infeasible if the node is too small.
std::optional<Rejection> check_resize(const core::Pod& pod, const AdmissionContext& context);

}  // namespace porthole::kubelet
