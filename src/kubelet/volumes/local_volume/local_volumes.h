#pragma once
#include <set>

#include "api/core_v1.h"
#include "base/log.h"
#include "kubelet/volumes/local_volume/image_disks.h"
#include "runtime/event_loop.h"
#include "runtime/files/file_system.h"
#include "runtime/worker_pool.h"

namespace porthole::kubelet {

/// The data of local volumes that the provisioner has assigned to this node, each in a directory `root`/local-volumes/<handle>.
///
/// A file "image" is a file system of the volume's size; "data" is a plain directory, whose size is not enforced. The directories belong to
/// root; containers see only the content of the file system, or of "data".
class LocalVolumes {
public:
    /// `disks` is null on systems that have none (Windows). All outlive it.
    LocalVolumes(EventLoop& loop, WorkerPool& workers, FileSystem& files, ImageDisks* disks, std::string root)
        : loop_(loop), workers_(workers), files_(files), disks_(disks), root_(std::move(root) + "/local-volumes") {}

    /// Creates the volume on first use, and returns the path for containers: `directory`, where it is mounted, or the plain directory. Safe
    /// to repeat. The error says why the volume cannot be used.
    Task<std::string> set_up(std::shared_ptr<const api::core::v1::PersistentVolume> volume, std::string directory);
    /// For file systems that cannot be expanded while mounted: expands it to the volume's size if no pod uses it. Called before set_up();
    /// `directory` is the same. Returns whether it did; otherwise call grow().
    Task<bool> grow_unmounted(std::shared_ptr<const api::core::v1::PersistentVolume> volume, std::string directory);
    /// Expands the file system to the volume's size. Requires: set_up(). Safe to repeat. Error: MethodNotAllowed if it cannot be expanded
    /// while in use.
    Result<void> grow(const api::core::v1::PersistentVolume& volume, const std::string& directory);
    /// Deletes the data, by a worker: containers leave any number of files. Success if there are none. Error: Conflict while a container
    /// may still use them.
    Task<> remove(std::shared_ptr<const api::core::v1::PersistentVolume> volume);

private:
    /// Error: BadRequest for a handle that could lead elsewhere.
    Result<std::string> folder_of(const api::core::v1::PersistentVolume& volume) const;
    Result<void> check_room(std::uint64_t bytes);
    Result<void> check_growth(const api::core::v1::PersistentVolume& volume, const std::string& folder);
    Task<> make(std::shared_ptr<const api::core::v1::PersistentVolume> volume, std::string folder);
    Task<> make_image(std::shared_ptr<const api::core::v1::PersistentVolume> volume, std::string folder);

    EventLoop& loop_;
    WorkerPool& workers_;
    FileSystem& files_;
    ImageDisks* disks_;
    std::string root_;
    std::set<std::string> busy_;  // directories that are being made, for one pod while others wait, or removed
};

}  // namespace porthole::kubelet
