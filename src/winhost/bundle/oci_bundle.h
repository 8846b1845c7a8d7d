#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace porthole::winhost {

/// What a container may use; 0 means without limit.
struct OciLimits {
    std::int64_t memory_bytes = 0;
    std::int64_t cpu_quota_us = 0;  ///< of each CpuPeriod
    std::int64_t processes = 0;
    static constexpr std::int64_t CpuPeriodUs = 100'000;
};

/// A bind mount into the container.
struct OciMount {
    std::string source, destination;  ///< both on Linux
    bool read_only = false;
};

/// The user namespace that a container is in.
struct OciUserNamespace {
    std::string path;
    std::uint32_t root = 0;  ///< who its root is on the machine
};

/// One process tree in namespaces of its own, as runc is to make it.
struct OciBundle {
    std::string rootfs;
    bool read_only_rootfs = false;
    std::vector<std::string> arguments;
    std::map<std::string, std::string> environment;
    std::string hostname;                ///< only where the uts namespace is a new one
    std::string network_namespace_path;  ///< "" for a new one without any device but lo
    std::string ipc_namespace_path;      ///< "" for a new one; so for the next
    std::string uts_namespace_path;
    std::optional<OciUserNamespace> user_namespace;  ///< the other namespaces with a path must belong to it
    std::string cgroup_path;                         ///< "/porthole/..."
    std::vector<OciMount> mounts;
    OciLimits limits;
    bool with_devices = true;  ///< /sys, /dev/shm, terminals, /tmp and /run; the sandbox's process needs none of them
};

/// Where the root file system is while runc makes a container in a user namespace: whose root may not pass the folders above the real
/// place.
constexpr const char* ReachableRoot = "/run/porthole-rootfs";

/// The bundle's config.json.
std::string make_oci_config(const OciBundle& bundle);

}  // namespace porthole::winhost
