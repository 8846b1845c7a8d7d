#pragma once
#include "kubelet/container/environment.h"
#include "kubelet/container/network_files.h"

namespace porthole::kubelet {

/// The user that an image names, where the pod does not say.
struct ImageUser {
    std::optional<std::int64_t> uid;
    std::string name;  ///< when it is not a number
};

/// The operating system that containers of a node are made for, and what their limits are shares of.
struct Platform {
    bool windows = false;
    std::int64_t processors = 1;
    std::int64_t memory = 0;  ///< bytes
};

struct ContainerInputs {
    const core::Pod& pod;
    const ContainerSpec& spec;
    std::int32_t attempt = 0;  ///< the restart count
    Environment environment;
    std::vector<cri::Mount> mounts;
    std::string image_ref;  ///< what the image service called the image
    ImageUser image_user;
    std::vector<std::int64_t> extra_groups;  ///< that volumes ask for
    Platform platform;
    std::string target_container_id;  ///< whose processes an ephemeral container sees
    std::string seccomp_root;         ///< where localhost profiles are
    bool cgroup_v2 = false;
};

/// The whole message for CreateContainer. Error: BadRequest with the text for CreateContainerConfigError.
Result<cri::ContainerConfig> make_container_config(ContainerInputs inputs);

struct SandboxInputs {
    const core::Pod& pod;
    std::uint32_t attempt = 0;
    std::string log_directory;
    std::string cgroup_parent;
    PodHostname hostname;
    cri::DNSConfig dns;
    bool windows = false;
};
cri::PodSandboxConfig make_sandbox_config(SandboxInputs inputs);

/// "/kubepods/burstable/pod<uid>" below `root` ("" or "/name"), as the cgroupfs driver names it.
std::string pod_cgroup(const core::Pod& pod, const std::string& root);

/// Limits and weights of a container, or of a pod with `pod_requests` and `pod_limits`.
cri::LinuxContainerResources linux_resources(const ResourceList& requests, const ResourceList& limits);

/// Whether processes of the container may run as root is checked here: an error says why not.
Result<void> verify_non_root(const core::Pod& pod, const core::Container& container, const ImageUser& image_user);

/// "SIGTERM" → the CRI's number; the runtime's default for unknown names.
cri::Signal signal_named(const std::string& name);

}  // namespace porthole::kubelet
