#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kubelet/container/environment.h"

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

/// What a container is made from: the parts that make_container_config() turns into its message. Borrows pod and spec.
struct ContainerInputs {
    const core::Pod& pod;
    const ContainerSpec& spec;
    std::int32_t attempt = 0;  ///< the restart count
    Environment environment;
    std::vector<cri::Mount> mounts;
    std::vector<cri::Device> devices;
    std::vector<std::string> cdi_devices;  ///< of the claims that it names
    std::string image_ref;  ///< what the image service called the image
    ImageUser image_user;
    std::vector<std::int64_t> extra_groups;  ///< that volumes ask for
    Platform platform;
    std::string target_container_id;  ///< whose processes an ephemeral container sees
    std::string seccomp_root;         ///< where localhost profiles are
    bool cgroup_v2 = false;
    bool seccomp_default = false;  ///< RuntimeDefault where no profile is named
};

}  // namespace porthole::kubelet
