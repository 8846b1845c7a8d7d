#pragma once
#include "base/log.h"
#include "kubelet/container/environment.h"
#include "kubelet/volumes/framework/duration_series.h"
#include "kubelet/volumes/framework/plugin.h"
#include "runtime/sync.h"

namespace porthole::kubelet {

/// The volumes of a pod by name.
using MountedVolumes = std::map<std::string, MountedVolume>;

/// Sets up, refreshes and removes the volumes of pods below `root_directory`/pods/<uid>. Owns the plugins. The volumes of a pod are set up
/// concurrently: one that waits for its driver does not delay the others. A call for a pod waits for the previous one.
class VolumeManager {
public:
    VolumeManager(VolumeDependencies given, Logger log, std::string root_directory);

    /// Sets up every volume that a container uses; repeated calls refresh contents. Error: that of the first volume that failed; every
    /// failure has its own event of the pod.
    Task<MountedVolumes> set_up(std::shared_ptr<const core::Pod> pod, ResourceList node_allocatable);
    /// The mounts of one container, with sub-paths bound, which takes as long as file servers do. Borrows its arguments.
    /// `recursive_read_only`: whether the container's runtime can make mounts below a volume read-only too. Error: BadRequest, for the
    /// container's waiting message.
    Task<std::vector<cri::Mount>> mounts_for(const core::Pod& pod, const core::Container& container, const MountedVolumes& volumes,
                                             const Environment& environment, bool recursive_read_only);
    /// The block devices of one container. Error: as above.
    Result<std::vector<cri::Device>> devices_for(const core::Container& container, const MountedVolumes& volumes) const;
    /// The groups that volumes of the pod need containers to have, without those that it has of itself.
    static std::vector<std::int64_t> groups_for(const core::Pod& pod, const MountedVolumes& volumes);
    /// Allows `account`, in the form of FileSystem::allow_reading(), to read the container's restricted volumes.
    Result<void> admit(const core::Container& container, const MountedVolumes& volumes, const std::string& account);
    /// The last result of set_up() for the pod; nullptr before the first, and after tear_down().
    const MountedVolumes* find_mounted(const std::string& uid) const;
    /// Unmounts and removes everything of the pod; success if there is nothing. If something cannot be unmounted, nothing is removed. Takes
    /// as long as drivers do.
    Task<> tear_down(std::string uid);
    /// Pods that have a directory here.
    std::vector<std::string> pods_on_disk();

    /// Durations, numbers of volumes, and what came of SELinux contexts, in Prometheus' text form.
    void append_metrics(std::string& out) const;

    std::string pod_directory(const std::string& uid) const { return root_ + "/pods/" + uid; }

private:
    /// How containers of the pod have a volume.
    struct VolumeUse {
        bool mounted = false, mapped = false;
    };
    Task<MountedVolume> set_up_and_tell(std::shared_ptr<const core::Pod> pod, core::Volume volume, VolumeUse use,
                                        ResourceList node_allocatable);
    Task<MountedVolume> set_up_one(std::shared_ptr<const core::Pod> pod, core::Volume volume, VolumeUse use, ResourceList node_allocatable,
                                   VolumeStep& step);
    /// `name`: upstream's of the operation, "volume_mount".
    void record(const char* name, const std::string& plugin, bool succeeded, MonotonicTime begin);
    std::shared_ptr<Semaphore> lock_of(const std::string& uid);
    Task<> unmount_below(std::string directory);
    Result<std::string> sub_path_of(const core::VolumeMount& mount, const VariablesByName& environment) const;
    Task<std::string> bind_sub_path(const core::Pod& pod, const core::Container& container, std::size_t index, const MountedVolume& volume,
                                    const std::string& sub_path);

    VolumeDependencies given_;
    Logger log_;
    std::string root_;
    std::vector<std::unique_ptr<VolumePlugin>> plugins_;
    std::map<std::string, MountedVolumes> mounted_;                         ///< by the pod's uid
    std::map<std::string, std::weak_ptr<Semaphore>> locks_;                 ///< as above
    std::map<std::string, std::map<std::string, std::string>> plugins_of_;  ///< of a pod's volumes; by pod as above, then by volume
    DurationSeries operations_;
    Semaphore foreign_binds_{8};  ///< half of the workers: a file server that is away keeps one for as long
};

}  // namespace porthole::kubelet
