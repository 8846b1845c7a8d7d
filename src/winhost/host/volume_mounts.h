#pragma once
#include <functional>
#include <string>
#include <vector>

#include "csi_proxy/host.h"
#include "winhost/bundle/container_users.h"
#include "winhost/disks/attached_disks.h"
#include "winhost/host/csi_files.h"
#include "winhost/host/host_mounts.h"

namespace porthole::winhost {

/// Volumes of attached disks on an emulated host's drive: the file system of a partition, which is ext4 on a loop device, is mounted at
/// "C:\ProgramData\Porthole Volumes\<id>", and links at the access paths lead there, as mounted folders of Windows lead to a volume. A link
/// that is no longer there is no access path, and a volume without one is unmounted. Mounts end with the host. Volumes are named by the
/// GUIDs of partitions. Not thread-safe; blocking. All references outlive it.
class VolumeMounts {
public:
    struct Services {
        FileSystem& files;
        CsiFiles& links;
        std::string root;        ///< the host's root file system
        std::string own_folder;  ///< a directory that no container can reach, for mounts in progress and the access paths
        ContainerUsers users;
    };
    explicit VolumeMounts(Services services) : services_(std::move(services)) {}

    Result<std::vector<std::string>> access_paths(const std::string& id);
    /// `path` is a Windows path. Errors: AlreadyExists if there is more than an empty directory or a link; Conflict, Io.
    Result<void> mount(const AttachedDisk& disk, const std::string& path);
    /// Writes everything to the disk; an empty directory stays at the path. Error: NotFound if it is not mounted there.
    Result<void> unmount(const std::string& id, const std::string& path);
    /// Error: Conflict if it is not mounted.
    Result<csi_proxy::Volumes::Stats> stats(const std::string& id);
    Result<void> flush(const std::string& id);
    Result<bool> is_mounted(const std::string& id);
    /// Enlarges the mounted file system to the size of its partition. Requires: may_enlarge_mounted().
    Result<void> grow(const AttachedDisk& disk);
    /// Error: Conflict while anything of this machine has the image as a disk; a container that just ended may have it for a moment.
    Result<void> check_unused(const AttachedDisk& disk);
    /// After a new file system was created: an empty directory for all users.
    Result<void> empty_new_file_system(const AttachedDisk& disk);
    /// Whether `place`, what a path leads to, is this volume's root.
    Result<bool> is_root(const FileId& place, const std::string& id);

private:
    static std::string place_of(const std::string& id);
    std::string record_of(const std::string& id) const { return join_path(services_.own_folder, id); }
    Result<void> remember(const std::string& id, const std::vector<std::string>& paths);
    Result<void> mount_at_place(const AttachedDisk& disk);
    Result<void> hide(const std::string& id);
    /// Mounts the file system at a directory that no container reaches, for as long as `use` runs.
    Result<void> with_file_system(const AttachedDisk& disk, const std::function<Result<void>(const std::string& directory)>& use);

    Services services_;
    HostMounts mounts_{services_.files, services_.root};
};

}  // namespace porthole::winhost
