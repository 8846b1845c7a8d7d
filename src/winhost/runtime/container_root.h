#pragma once  // private to this folder
#include "winhost/bundle/container_folder.h"
#include "winhost/bundle/container_users.h"
#include "winhost/bundle/oci_bundle.h"
#include "winhost/runtime/context.h"
#include "winhost/runtime/records.h"
#include "winhost/template/drive.h"

namespace porthole::winhost {

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
