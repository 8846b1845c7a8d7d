#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kubelet/container/environment.h"

namespace porthole::kubelet {

/// The user that an image sets, for pods that set none.
struct ImageUser {
    std::optional<std::int64_t> uid;
    std::string name;  ///< when it is not a number
};

/// The operating system of a node's containers, and the total amounts that limits are shares of.
struct Platform {
    bool windows = false;
    std::int64_t processors = 1;
    std::int64_t memory = 0;  ///< bytes
};

/// The input of make_container_config(). Borrows pod and spec.
struct ContainerInputs {
    const core::Pod& pod;
    const ContainerSpec& spec;
    std::int32_t attempt = 0;  ///< the restart count
    Environment environment;
    std::vector<cri::Mount> mounts;
    std::vector<cri::Device> devices;
    std::vector<std::string> cdi_devices;  ///< of the claims that it names
    std::string image_ref;                 ///< the image service's name for the image
    ImageUser image_user;
    std::vector<std::int64_t> extra_groups;  ///< requested by volumes
    Platform platform;
    schema::Box<cri::UserNamespace> users;  ///< the sandbox's own
    std::string target_container_id;        ///< the container whose processes an ephemeral container sees
    std::string seccomp_root;               ///< where localhost profiles are
    bool cgroup_v2 = false;
    bool seccomp_default = false;  ///< RuntimeDefault where no profile is named
};

}  // namespace porthole::kubelet
