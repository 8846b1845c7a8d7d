#pragma once
#include "base/log.h"
#include "kubelet/volumes/framework/plugin.h"

namespace porthole::kubelet {

/// The volumes of a pod by name.
using MountedVolumes = std::map<std::string, MountedVolume>;

/// Sets up, refreshes and removes the volumes of pods below `root_directory`/pods/<uid>. Owns the plugins. Calls for one pod must not
/// overlap.
class VolumeManager {
public:
    VolumeManager(VolumeServices services, Logger log, std::string root_directory);

    /// Sets up every volume that a container uses; repeated calls refresh contents. Error: that of the plugin, told in an event of the pod.
    Task<MountedVolumes> set_up(std::shared_ptr<const core::Pod> pod, ResourceList node_allocatable);
    /// The mounts of one container, sub-paths bound. `recursive_read_only`: whether the container's runtime can make what is mounted below
    /// a volume read-only too. Error: BadRequest, as the container's waiting message has it.
    Result<std::vector<cri::Mount>> mounts_for(const core::Pod& pod, const core::Container& container, const MountedVolumes& volumes,
                                               const Environment& environment, bool recursive_read_only);
    /// The block devices of one container. Error: as above.
    Result<std::vector<cri::Device>> devices_for(const core::Container& container, const MountedVolumes& volumes) const;
    /// What set_up() last yielded for the pod; nullptr before the first, and after tear_down().
    const MountedVolumes* find_mounted(const std::string& uid) const;
    /// Unmounts and removes everything of the pod; success if there is nothing. What cannot be unmounted keeps everything where it is.
    Result<void> tear_down(const std::string& uid);
    /// Pods that have a directory here.
    std::vector<std::string> pods_on_disk();

    std::string pod_directory(const std::string& uid) const { return root_ + "/pods/" + uid; }

private:
    Task<MountedVolume> set_up_one(std::shared_ptr<const core::Pod> pod, core::Volume volume, ResourceList node_allocatable,
                                   VolumeStep& step);
    Result<std::string> sub_path_of(const core::VolumeMount& mount, const Environment& environment) const;
    Result<std::string> bind_sub_path(const core::Pod& pod, const core::Container& container, std::size_t index,
                                      const std::string& volume_path, const std::string& sub_path);

    VolumeServices services_;
    Logger log_;
    std::string root_;
    std::vector<std::unique_ptr<VolumePlugin>> plugins_;
    std::map<std::string, MountedVolumes> mounted_;  ///< by the pod's uid
};

}  // namespace porthole::kubelet
