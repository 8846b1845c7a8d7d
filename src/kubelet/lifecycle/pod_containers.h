#pragma once
#include "kubelet/lifecycle/container_gc.h"
#include "kubelet/lifecycle/container_killer.h"
#include "kubelet/lifecycle/container_starter.h"
#include "kubelet/lifecycle/state_reader.h"

namespace porthole::kubelet {

/// The containers of the node's pods: the classes of this folder, and operations that involve several of them.
struct PodContainers {
    struct Dependencies {
        EventLoop& loop;
        Random& random;
        RuntimeService& runtime;
        ImagePuller& puller;
        NetworkProber& network;
        FileSystem& files;
        VolumeManager& volumes;
        PodDevices& devices;
        ObjectSource& objects;
        client::EventRecorder& events;
        Logger log;
    };
    /// All references in `given` outlive it. `restarts` is the back-off of containers that end repeatedly.
    PodContainers(const Dependencies& given, const StarterConfig& config, Backoff restarts);

    /// When the first delayed container of the pod may be retried; nullopt if there is none.
    std::optional<Duration> retry_after(const core::Pod& pod, const PodRuntimeState& state) const;
    /// Forgets the back-offs of a pod that is over.
    void forget_pod(const std::string& uid);

    RuntimeService& runtime;
    StateReader reader;
    ImagePuller& puller;
    ContainerStarter starter;
    ContainerKiller killer;
    ContainerGc gc;
};

}  // namespace porthole::kubelet
