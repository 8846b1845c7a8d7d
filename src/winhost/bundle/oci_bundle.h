#pragma once
#include <cstdint>
#include <map>
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
    std::string cgroup_path;  ///< "/porthole/..."
    std::vector<OciMount> mounts;
    OciLimits limits;
    bool with_devices = true;  ///< /sys, /dev/shm, terminals, /tmp and /run; the sandbox's process needs none of them
};

/// The bundle's config.json.
std::string make_oci_config(const OciBundle& bundle);

}  // namespace porthole::winhost
