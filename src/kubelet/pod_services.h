#pragma once
#include "kubelet/device_plugins/device_plugins.h"
#include "kubelet/devices/claim_preparer.h"
#include "kubelet/lifecycle/pod_containers.h"
#include "kubelet/pod_footprint.h"
#include "kubelet/pod_references.h"
#include "kubelet/probes/probe_manager.h"
#include "kubelet/status_manager.h"
#include "kubelet/user_namespaces/user_namespaces.h"
#include "runtime/task.h"

namespace porthole::kubelet {

/// The collaborators shared by pod workers. All outlive them.
struct PodServices {
    EventLoop& loop;
    Random& random;
    Logger log;
    const NodeFacts& node;
    PodContainers& containers;
    PodFootprint& footprint;
    PodReferences& references;
    ProbeManager& probes;
    StatusManager& statuses;
    client::EventRecorder& events;
    ClaimPreparer* devices = nullptr;         ///< null if pods with claims are refused
    DevicePlugins* device_plugins = nullptr;  ///< null if there are none
    UserNamespaces* users = nullptr;          ///< null on Windows
};

}  // namespace porthole::kubelet
