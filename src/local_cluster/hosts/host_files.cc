#include "local_cluster/hosts/host_files.h"

#include <algorithm>
#include <cstdlib>

#include "base/strings.h"
#include "node_join/windows_node/node_plan.h"
#include "runtime/files/durable_file.h"
#include "winhost/bundle/container_folder.h"
#include "winhost/bundle/held_tree.h"
#include "winhost/template/drive.h"

namespace porthole::local_cluster {
namespace {

using winhost::Folder;
using winhost::HeldTree;

constexpr std::size_t LargestCredential = 64 << 10;
/// Where the kubelet of an emulated host keeps local volumes (kubelet/volumes/local_volume) if its flags name no other directory.
constexpr const char* LocalVolumes = "C:\\var\\lib\\kubelet\\local-volumes";

/// "C:\\k\\pki" -> "wine/drive_c/k/pki"
std::string below_root(std::string windows_path) {
    std::ranges::replace(windows_path, '\\', '/');
    return join_path(winhost::Drive, windows_path.substr(std::string_view("C:/").size()));
}

std::string credential(const std::string& name) { return below_root(node_join::WindowsNode().credentials() + "\\" + name); }

}  // namespace

std::string HostFiles::joined_server() const { return std::string(trim(read_file(folder_ / "joined").value_or(""))); }

Result<void> HostFiles::note_joined(const std::string& server) const { return write_durably(folder_ / "joined", server + "\n"); }

ProcessId HostFiles::first_process() const { return identify(std::atoi(read_file(Folder::of_host(folder_).pid()).value_or("").c_str())); }

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

Result<bool> HostFiles::has_claims() const {
    // The layer below C:\ that has what was written to it.
    const auto written = HeldTree::open(Folder::of_host(folder_).upper());
    if (is_not_found(written)) return false;
    TRY_VOID(written);
    const auto volumes = written->list(below_root(LocalVolumes));
    if (is_not_found(volumes)) return false;
    TRY_VOID(volumes);
    return !volumes->empty();
}

}  // namespace porthole::local_cluster
