#pragma once
#include <set>

#include "base/log.h"
#include "kubelet/volumes/framework/plugin.h"

namespace porthole::kubelet {

/// Volumes by name: where each is on the node.
using MountedVolumes = std::map<std::string, std::string>;

/// A volume of a pod that is a claim, for statistics.
struct ClaimVolume {
    std::string pod_uid, namespace_, claim, volume;
    std::string path;  ///< on the node

    auto operator<=>(const ClaimVolume&) const = default;
};

/// Sets up, refreshes and removes the volumes of pods below `root_directory`/pods/<uid>. Owns the plugins. Calls for one pod must not
/// overlap.
class VolumeManager {
public:
    VolumeManager(VolumeServices services, Logger log, std::string root_directory);

    /// Sets up every volume that a container mounts; repeated calls refresh contents. Error: that of the plugin, its message being the text
    /// of the FailedMount event.
    Task<MountedVolumes> set_up(std::shared_ptr<const core::Pod> pod, ResourceList node_allocatable);
    /// The mounts of one container, sub-paths bound.
    Result<std::vector<cri::Mount>> mounts_for(const core::Pod& pod, const core::Container& container, const MountedVolumes& volumes,
                                               const Environment& environment);
    /// Unmounts and removes everything of the pod; success if there is nothing.
    Result<void> tear_down(const std::string& uid);
    /// Pods that have a directory here.
    std::vector<std::string> pods_on_disk();

    /// Of the pods that have been set up since the kubelet's start.
    std::vector<ClaimVolume> claim_volumes() const { return {claim_volumes_.begin(), claim_volumes_.end()}; }

    std::string pod_directory(const std::string& uid) const { return root_ + "/pods/" + uid; }

private:
    Result<std::string> sub_path_of(const core::VolumeMount& mount, const Environment& environment) const;
    Result<std::string> bind_sub_path(const core::Pod& pod, const core::Container& container, std::size_t index,
                                      const std::string& volume_path, const std::string& sub_path);

    VolumeServices services_;
    Logger log_;
    std::string root_;
    std::vector<std::unique_ptr<VolumePlugin>> plugins_;
    std::set<ClaimVolume> claim_volumes_;
};

}  // namespace porthole::kubelet
