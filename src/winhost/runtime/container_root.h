#pragma once  // private to this folder
#include "winhost/bundle/container_users.h"
#include "winhost/bundle/oci_bundle.h"
#include "winhost/runtime/context.h"
#include "winhost/runtime/records.h"

namespace porthole::winhost {

/// The directories and files of one pod or container.
struct Folder {
    std::string path;

    std::string upper() const { return join_path(path, "upper"); }
    std::string work() const { return join_path(path, "work"); }
    std::string rootfs() const { return join_path(path, "rootfs"); }
    std::string exchange() const { return join_path(path, "x"); }  ///< /.ph inside
    std::string socket() const { return join_path(path, "x/s"); }
    std::string exit_file() const { return join_path(path, "x/exit"); }
    /// The n-th source of the host's that is mounted into the container.
    std::string source(std::size_t number) const { return join_path(path, "sources/" + std::to_string(number)); }
    std::string record() const { return join_path(path, "record.json"); }
    std::string hosts() const { return join_path(path, "hosts"); }
    std::string resolv_conf() const { return join_path(path, "resolv.conf"); }
};

/// C:\ of a host or container, below its root file system.
inline std::string drive_of(const std::string& rootfs) { return join_path(rootfs, "wine/drive_c"); }

/// The input for a container's file system. Borrows the records.
struct RootRequest {
    const ContainerRecord& container;
    const SandboxRecord& sandbox;
    Folder folder, sandbox_folder;
    std::vector<std::string> template_lowers;
    std::string host_root;
    const ContainerUsers& users;
};

/// Mounts the container's file system, creates its mount points, and returns the mounts; named pipes are handled elsewhere. Errors:
/// BadRequest for impossible mounts (other drives of the host), NotFound for missing sources, Io.
Result<std::vector<OciMount>> prepare_root(FileSystem& files, const RootRequest& request);

/// Adds the mount of the directory of the container's log, which is created, and returns the log's path inside; "" if it has none.
Result<std::string> mount_log(FileSystem& files, const RootRequest& request, std::vector<OciMount>& mounts);

/// Environment variables of Wine's Unix processes; programs do not see them.
std::map<std::string, std::string> wine_environment(bool light);

}  // namespace porthole::winhost
