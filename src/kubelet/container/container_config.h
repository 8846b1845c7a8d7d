#pragma once
#include "kubelet/container/inputs.h"
#include "kubelet/container/network_files.h"

namespace porthole::kubelet {

/// The whole message for CreateContainer. Error: BadRequest with the text for CreateContainerConfigError.
Result<cri::ContainerConfig> make_container_config(ContainerInputs inputs);

/// The input of a sandbox's configuration. Borrows the pod.
struct SandboxInputs {
    const core::Pod& pod;
    std::uint32_t attempt = 0;
    std::string log_directory;
    std::string cgroup_parent;
    PodHostname hostname;
    cri::DNSConfig dns;
    schema::Box<cri::UserNamespace> users;  ///< of the pod's own; none if it has the node's
    bool windows = false;
};
cri::PodSandboxConfig make_sandbox_config(SandboxInputs inputs);

/// The user namespace that a sandbox was made with; none if it has the node's.
schema::Box<cri::UserNamespace> users_of(const cri::PodSandboxConfig& sandbox);
/// Has the runtime map the owners of all mounts as it maps the container's users: files of the node's ids 0, 1, … then belong to those ids
/// of the container. No effect if the container has the node's users.
void map_owners_of_mounts(cri::ContainerConfig& config);

/// "/kubepods/burstable/pod<uid>" below `root` ("" or "/name"), as the cgroupfs driver names it.
std::string pod_cgroup(const core::Pod& pod, const std::string& root);

/// Limits and weights of a container, or of a pod with `pod_requests` and `pod_limits`.
cri::LinuxContainerResources linux_resources(const ResourceList& requests, const ResourceList& limits);

/// "SIGTERM" → the CRI's number; the runtime's default for unknown names.
cri::Signal signal_named(const std::string& name);

}  // namespace porthole::kubelet
