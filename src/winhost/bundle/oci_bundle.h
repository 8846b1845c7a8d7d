#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace porthole::winhost {

/// Resource limits of a container; 0 means no limit.
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
    std::uint32_t root = 0;  ///< uid of its root on the machine
};

/// One process tree in its own namespaces, as runc creates it.
struct OciBundle {
    std::string rootfs;
    bool read_only_rootfs = false;
    std::vector<std::string> arguments;
    std::map<std::string, std::string> environment;
    std::string hostname;                ///< only where the uts namespace is a new one
    std::string network_namespace_path;  ///< "" for a new one without any device but lo
    std::string ipc_namespace_path;      ///< "" for a new one; so for the next
    std::string uts_namespace_path;
    std::optional<OciUserNamespace> user_namespace;  ///< the other namespaces with a path must be owned by it
    std::string cgroup_path;                         ///< "/porthole/..."
    std::vector<OciMount> mounts;
    std::string late_mounts;  ///< directory in the root file system: what is mounted below it later appears in the container; "" for none
    OciLimits limits;
    bool with_32_bit = false;  ///< whether programs of 32 bits run in it, which need system calls of that kind
    bool with_devices = true;  ///< /sys, /dev/shm, terminals, /tmp and /run, which the sandbox's process does not need
};

/// Where the root file system is while runc creates a container in a user namespace, whose root may not be able to traverse the directories
/// of the real place.
constexpr const char* ReachableRoot = "/run/porthole-rootfs";

/// The bundle's config.json.
std::string make_oci_config(const OciBundle& bundle);

}  // namespace porthole::winhost
