#include "local_cluster/hosts/host_files.h"

#include <algorithm>

#include "node_join/windows_node/node_plan.h"
#include "winhost/bundle/container_folder.h"
#include "winhost/bundle/held_tree.h"
#include "winhost/template/drive.h"

namespace porthole::local_cluster {
namespace {

using winhost::Folder;
using winhost::HeldTree;

constexpr std::size_t LargestCredential = 64 << 10;
/// "C:\\k\\pki" -> "wine/drive_c/k/pki"
std::string below_root(std::string windows_path) {
    std::ranges::replace(windows_path, '\\', '/');
    return join_path(winhost::Drive, windows_path.substr(std::string_view("C:/").size()));
}

std::string credential(const std::string& name) { return below_root(node_join::WindowsNode().credentials() + "\\" + name); }

}  // namespace

Result<std::uint32_t> HostFiles::root_user() const {
    TRY(const HeldTree root, HeldTree::open(Folder::of_host(folder_).rootfs()));
    TRY(const FileStatus drive, root.status(winhost::Drive));
    return drive.uid;
}

Result<std::string> HostFiles::read_credential(const std::string& name) const {
    TRY(const HeldTree root, HeldTree::open(Folder::of_host(folder_).rootfs()));
    return root.read(credential(name), LargestCredential);
}

Result<FileStatus> HostFiles::credential_status(const std::string& name) const {
    TRY(const HeldTree root, HeldTree::open(Folder::of_host(folder_).rootfs()));
    return root.status(credential(name));
}

std::filesystem::path HostFiles::credential_path(const std::string& name) const {
    return Folder::of_host(folder_).rootfs() / std::filesystem::path(credential(name));
}

}  // namespace porthole::local_cluster
