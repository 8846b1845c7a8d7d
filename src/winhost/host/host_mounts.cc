#include "winhost/host/host_mounts.h"

#include <sys/mount.h>

#include <cerrno>
#include <cstring>

#include "runtime/files/mounts.h"
#include "winhost/bundle/held_tree.h"
#include "winhost/runtime/container_root.h"
#include "winhost/runtime/windows_path.h"

namespace porthole::winhost {

Result<std::string> HostMounts::folder_of(const std::string& windows_path) const {
    TRY(const WindowsPath path, WindowsPath::parse(windows_path));
    std::string folder = Drive;
    for (const std::string& name : path.components) folder = join_path(folder, name);
    return folder;
}

Result<std::size_t> HostMounts::count(const std::string& folder) const {
    TRY(const std::string root, files_.real_path(root_));
    TRY(const auto points, mount_points());
    return mounts_in(points, join_path(root, folder)).size();
}

/// The program mount would follow a link on the way: it is given a folder of ours for that reason.
Result<void> HostMounts::show(const std::string& from, const std::string& folder) const {
    TRY(const HeldTree tree, HeldTree::open(root_));
    TRY_VOID(tree.create_directories(folder, 0755));
    TRY(const HeldSource held, tree.hold(folder));
    if (::mount(from.c_str(), held.path().c_str(), nullptr, MS_BIND, nullptr) != 0)
        return Error(Reason::Io, "mounting at " + folder + ": " + std::strerror(errno));
    return {};
}

/// What is unmounted is what was opened without following a link.
Result<void> HostMounts::hide(const std::string& folder) const {
    TRY(const HeldTree tree, HeldTree::open(root_));
    for (;;) {
        TRY(const std::size_t mounts, count(folder));
        if (mounts == 0) return {};
        TRY(const HeldSource held, tree.hold(folder));
        if (::umount2(held.path().c_str(), MNT_DETACH) != 0) return Error(Reason::Io, "unmounting " + folder + ": " + std::strerror(errno));
    }
}

}  // namespace porthole::winhost
