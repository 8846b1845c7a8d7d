#pragma once
#include <set>

#include "api/core_v1.h"
#include "base/log.h"
#include "kubelet/volumes/local_volume/image_disks.h"
#include "runtime/event_loop.h"
#include "runtime/files/file_system.h"

namespace porthole::kubelet {

/// The data of the volumes that the provisioner of local volumes has given to this node, each in a folder `root`/local-volumes/<handle>.
///
/// What is there says what the volume is: "image" is a file system of the volume's size, "data" a plain directory, whose size nothing
/// enforces. The folders are root's; containers see only the inside of the file system, or the directory.
class LocalVolumes {
public:
    /// `disks` is null on systems that have none (Windows). All outlive it.
    LocalVolumes(EventLoop& loop, FileSystem& files, ImageDisks* disks, std::string root)
        : loop_(loop), files_(files), disks_(disks), root_(std::move(root) + "/local-volumes") {}

    /// Makes the volume at first use, and yields the path to give to containers: `directory`, where it is mounted, or the plain directory.
    /// Safe to repeat. The error says why the volume cannot be used.
    Task<std::string> set_up(std::shared_ptr<const api::core::v1::PersistentVolume> volume, std::string directory);
    /// Where file systems do not grow while they are mounted: makes it as large as the volume says if no pod has it. To be called before
    /// set_up(); `directory` is the same. Yields whether it has; otherwise grow() is to be asked.
    Task<bool> grow_unmounted(std::shared_ptr<const api::core::v1::PersistentVolume> volume, std::string directory);
    /// Makes the file system as large as the volume says. Requires: set_up(). Safe to repeat. Error: MethodNotAllowed where it cannot grow
    /// while it is in use.
    Result<void> grow(const api::core::v1::PersistentVolume& volume, const std::string& directory);
    /// Deletes the data. Success if there are none. Error: Conflict while a container may still use them.
    Result<void> remove(const api::core::v1::PersistentVolume& volume);

private:
    /// Error: BadRequest for a handle that could lead elsewhere.
    Result<std::string> folder_of(const api::core::v1::PersistentVolume& volume) const;
    Result<void> check_room(std::uint64_t bytes);
    Result<void> check_growth(const api::core::v1::PersistentVolume& volume, const std::string& folder);
    Task<> make(std::shared_ptr<const api::core::v1::PersistentVolume> volume, std::string folder);
    Task<> make_image(std::shared_ptr<const api::core::v1::PersistentVolume> volume, std::string folder);

    EventLoop& loop_;
    FileSystem& files_;
    ImageDisks* disks_;
    std::string root_;
    std::set<std::string> making_;  // folders, for one pod while others wait
};

}  // namespace porthole::kubelet
