#pragma once
#include "kubelet/lifecycle/pod_containers.h"
#include "kubelet/preparation/pod_sandboxes.h"
#include "kubelet/probes/probe_manager.h"
#include "kubelet/status_manager.h"
#include "runtime/task.h"

namespace porthole::kubelet {

/// The collaborators shared by pod workers. All outlive them.
struct PodServices {
    EventLoop& loop;
    Random& random;
    Logger log;
    const NodeFacts& node;
    RuntimeService& runtime;
    StateReader& reader;
    ContainerGc& gc;
    PodContainers& containers;
    PodFootprint& footprint;
    PodReferences& references;
    ProbeManager& probes;
    StatusManager& statuses;
    client::EventRecorder& events;
    PodDevices& devices;
    PodPreparer& preparer;
    PodSandboxes& sandboxes;
};

}  // namespace porthole::kubelet
