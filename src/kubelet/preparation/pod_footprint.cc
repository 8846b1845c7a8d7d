#include "kubelet/preparation/pod_footprint.h"

#include <algorithm>

#include "kubelet/pod/resources.h"

namespace porthole::kubelet {
namespace {

cri::LinuxContainerResources limits_of(const core::Pod& pod) {
    return linux_resources(objects::pod_requests(pod.spec), enforced_limits(pod.spec));
}

}  // namespace

Result<void> PodFootprint::ensure_cgroup(const core::Pod& pod) {
    return cgroups_.ensure(cgroup(pod), limits_of(pod), node_.pod_pids_limit);
}

std::int64_t PodFootprint::memory_limit(const core::Pod& pod) { return limits_of(pod).memory_limit_in_bytes; }

Result<void> PodFootprint::ensure_cgroup_for_both(const core::Pod& before, const core::Pod& after) {
    const cri::LinuxContainerResources old = limits_of(before);
    cri::LinuxContainerResources limits = limits_of(after);
    const auto wider = [](std::int64_t& limit, std::int64_t other) { limit = limit == 0 || other == 0 ? 0 : std::max(limit, other); };
    limits.cpu_shares = std::max(limits.cpu_shares, old.cpu_shares);
    wider(limits.cpu_quota, old.cpu_quota);
    wider(limits.memory_limit_in_bytes, old.memory_limit_in_bytes);
    return cgroups_.ensure(cgroup(after), limits, node_.pod_pids_limit);
}

Result<void> PodFootprint::ensure_directory(const core::Pod& pod) {
    return files_.create_directories(volumes_.pod_directory(pod.metadata.uid), 0750);
}

Result<void> PodFootprint::ensure_log_directory(const core::Pod& pod) { return files_.create_directories(log_directory(pod), 0755); }

Task<MountedVolumes> PodFootprint::set_up_volumes(std::shared_ptr<const core::Pod> pod) {
    return volumes_.set_up(std::move(pod), node_.allocatable);
}

void PodFootprint::remove_stale_cgroups(const std::function<bool(const std::string& uid)>& is_stale) {
    for (const auto& [uid, cgroup] : cgroups_.pods(node_.cgroup_root))
        if (is_stale(uid)) (void)cgroups_.remove(cgroup);
}

}  // namespace porthole::kubelet
