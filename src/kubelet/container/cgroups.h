#pragma once
#include "base/log.h"
#include "kubelet/container/container_config.h"
#include "runtime/files/file_system.h"

namespace porthole::kubelet {

/// Parent cgroups of pods: creates them with the pod's limits, finds forgotten ones, removes them. Short blocking calls. Errors: Io.
class Cgroups {
public:
    virtual ~Cgroups() = default;
    virtual bool is_v2() const = 0;
    /// The tiers "kubepods", "kubepods/burstable" and "kubepods/besteffort" below `root`.
    virtual Result<void> ensure_tiers(const std::string& root) = 0;
    /// `processes`: maximum number of processes and threads of all containers; -1 for no limit.
    virtual Result<void> ensure(const std::string& cgroup, const cri::LinuxContainerResources& limits, std::int64_t processes) = 0;
    /// With all cgroups below; success if it is not there. Error: Io while there are processes in it.
    virtual Result<void> remove(const std::string& cgroup) = 0;
    /// uids of pods that have a cgroup below `root`, each with its path.
    virtual std::map<std::string, std::string> pods(const std::string& root) = 0;
};

/// The kernel's control groups: one hierarchy (v2) or one for each controller (v1). `files` must outlive it.
class CgroupFiles final : public Cgroups {
public:
    /// `mount` is "/sys/fs/cgroup" but in tests.
    explicit CgroupFiles(FileSystem& files, std::string mount = "/sys/fs/cgroup");

    bool is_v2() const override { return v2_; }
    Result<void> ensure_tiers(const std::string& root) override;
    Result<void> ensure(const std::string& cgroup, const cri::LinuxContainerResources& limits, std::int64_t processes) override;
    Result<void> remove(const std::string& cgroup) override;
    std::map<std::string, std::string> pods(const std::string& root) override;

private:
    Result<void> create(const std::string& cgroup);
    Result<void> set(const std::string& hierarchy, const std::string& cgroup, const char* file, const std::string& value);
    Result<void> remove_tree(const std::string& directory);

    FileSystem& files_;
    std::string mount_;
    bool v2_;
    std::vector<std::string> hierarchies_;  ///< mount points; one for v2
};

/// For hosts without control groups, and simulations.
class NoCgroups final : public Cgroups {
public:
    bool is_v2() const override { return false; }
    Result<void> ensure_tiers(const std::string&) override { return {}; }
    Result<void> ensure(const std::string&, const cri::LinuxContainerResources&, std::int64_t) override { return {}; }
    Result<void> remove(const std::string&) override { return {}; }
    std::map<std::string, std::string> pods(const std::string&) override { return {}; }
};

/// cgroup v2's weight (1 to 10000) for v1's shares (2 to 262144), as runc converts it.
std::int64_t cpu_weight_of(std::int64_t shares);

}  // namespace porthole::kubelet
