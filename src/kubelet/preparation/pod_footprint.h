#pragma once
#include "kubelet/container/cgroups.h"
#include "kubelet/node/node_facts.h"
#include "kubelet/volumes/volume_manager.h"

namespace porthole::kubelet {

/// The resources of pods on the node other than containers: a cgroup, a directory with volumes, and a directory with logs.
///
/// Every function may be repeated; removing something that does not exist succeeds.
class PodFootprint {
public:
    PodFootprint(FileSystem& files, Cgroups& cgroups, VolumeManager& volumes, const NodeFacts& node)
        : files_(files), cgroups_(cgroups), volumes_(volumes), node_(node) {}

    std::string cgroup(const core::Pod& pod) const { return pod_cgroup(pod, node_.cgroup_root); }
    std::string log_directory(const core::Pod& pod) const { return node_.log_root + "/" + pod_log_directory_name(pod); }

    Result<void> ensure_cgroup(const core::Pod& pod);
    /// The memory that the pod's cgroup is limited to, in bytes; 0 for no limit.
    static std::int64_t memory_limit(const core::Pod& pod);
    /// Limits that are high enough for the pod as it was and as it will be, for the time of a resize.
    Result<void> ensure_cgroup_for_both(const core::Pod& before, const core::Pod& after);
    Result<void> ensure_directory(const core::Pod& pod);
    Result<void> ensure_log_directory(const core::Pod& pod);
    /// Also updates volumes whose content comes from the API.
    Task<MountedVolumes> set_up_volumes(std::shared_ptr<const core::Pod> pod);

    Task<> tear_down_volumes(std::string uid) { return volumes_.tear_down(std::move(uid)); }
    Result<void> remove_cgroup(const core::Pod& pod) { return cgroups_.remove(cgroup(pod)); }
    Result<void> remove_logs(const core::Pod& pod) { return files_.remove_all(log_directory(pod)); }
    std::vector<std::string> pods_on_disk() { return volumes_.pods_on_disk(); }
    /// Of all pods for which `is_stale` is true.
    void remove_stale_cgroups(const std::function<bool(const std::string& uid)>& is_stale);

private:
    FileSystem& files_;
    Cgroups& cgroups_;
    VolumeManager& volumes_;
    const NodeFacts& node_;
};

}  // namespace porthole::kubelet
