#include "winhost/host/volume_mounts.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/strings.h"
#include "runtime/files/loop_devices.h"
#include "runtime/files/mounts.h"

namespace porthole::winhost {
namespace {

constexpr const char* Places = "C:\\ProgramData\\Porthole Volumes\\";
constexpr unsigned long ResizeExt4 = _IOW('f', 16, std::uint64_t);  // EXT4_IOC_RESIZE_FS, which no header of the kernel's has
constexpr int DeviceLooks = 200;                                    // at a device that the kernel is about to free
constexpr useconds_t BetweenLooks = 10'000;

Error system_error(const std::string& what) { return Error(Reason::Io, what + ": " + std::strerror(errno)); }

/// Requires: it has one.
const Partition& partition_of(const AttachedDisk& disk) { return *disk.table->partition; }

Result<void> enlarge_file_system(const std::string& directory, std::uint64_t bytes) {
    const FileHandle root(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    struct statfs shape;
    if (!root.is_open() || ::fstatfs(root.get(), &shape) != 0) return system_error("looking at a file system");
    std::uint64_t blocks = bytes / static_cast<std::uint64_t>(shape.f_bsize);
    return ::ioctl(root.get(), ResizeExt4, &blocks) == 0 ? Result<void>() : system_error("enlarging a file system");
}

}  // namespace

std::string VolumeMounts::place_of(const std::string& id) { return Places + id; }

Result<bool> VolumeMounts::is_mounted(const std::string& id) {
    TRY(const std::string folder, mounts_.folder_of(place_of(id)));
    TRY(const std::size_t mounts, mounts_.count(folder));
    return mounts > 0;
}

Result<bool> VolumeMounts::is_root(const FileId& place, const std::string& id) {
    TRY(const bool mounted, is_mounted(id));
    if (!mounted) return false;
    TRY(const FileId root, services_.links.leads_to(place_of(id)));
    return root == place;
}

Result<void> VolumeMounts::remember(const std::string& id, const std::vector<std::string>& paths) {
    TRY_VOID(services_.files.create_directories(services_.own_folder, 0700));
    return services_.files.replace(record_of(id), join(paths, "\n"), 0600);
}

Result<std::vector<std::string>> VolumeMounts::access_paths(const std::string& id) {
    TRY(const bool mounted, is_mounted(id));
    std::vector<std::string> paths;
    if (!mounted) return paths;
    const std::string record = services_.files.read(record_of(id)).value_or("");
    for (const std::string& path : split_nonempty(record, '\n')) {
        const auto place = services_.links.leads_to(path);
        const auto here = place ? is_root(*place, id) : Result<bool>(false);
        if (here && *here) paths.push_back(path);
    }
    if (paths.empty()) TRY_VOID(hide(id));
    return paths;
}

Result<void> VolumeMounts::hide(const std::string& id) {
    TRY(const std::string folder, mounts_.folder_of(place_of(id)));
    TRY_VOID(mounts_.hide(folder));
    TRY_VOID(services_.links.remove(place_of(id)));
    if (services_.files.exists(record_of(id))) TRY_VOID(services_.files.remove(record_of(id)));
    return {};
}

Result<void> VolumeMounts::with_file_system(const AttachedDisk& disk,
                                            const std::function<Result<void>(const std::string& directory)>& use) {
    TRY_VOID(unmount_below(services_.own_folder));  // of a process that ended here
    const std::string directory = join_path(services_.own_folder, "mounted");
    TRY_VOID(services_.files.create_directories(directory, 0700));
    TRY(const LoopDevice loop, LoopDevices().attach(disk.image, partition_of(disk).start));
    // The options are those of its superblock unless they are named: it may say that the machine shall stop at an error.
    if (::mount(loop.path().c_str(), directory.c_str(), "ext4", MS_NOSUID | MS_NODEV, "errors=remount-ro") != 0)
        return system_error("mounting the volume of disk " + disk.name);
    const auto used = use(directory);
    TRY_VOID(unmount_below(services_.own_folder));
    return used;
}

Result<void> VolumeMounts::mount_at_place(const AttachedDisk& disk) {
    TRY(const std::string folder, mounts_.folder_of(place_of(partition_of(disk).id)));
    return with_file_system(disk, [&](const std::string& directory) -> Result<void> {
        if (!services_.users.owners()) return mounts_.show(directory, folder);
        const std::string shown = join_path(services_.own_folder, "shown");
        TRY_VOID(services_.files.create_directories(shown, 0700));
        TRY_VOID(services_.users.owners()->mount(directory, shown));
        return mounts_.show(shown, folder);
    });
}

Result<void> VolumeMounts::mount(const AttachedDisk& disk, const std::string& path) {
    const std::string& id = partition_of(disk).id;
    TRY(auto paths, access_paths(id));
    if (std::ranges::any_of(paths, [&](const std::string& one) { return equal_ignoring_case(one, path); })) return {};
    if (paths.empty()) TRY_VOID(mount_at_place(disk));
    paths.push_back(path);
    auto done = remember(id, paths);
    if (done) done = services_.links.put_link(place_of(id), path);
    if (!done) TRY_VOID(access_paths(id));  // without the link it is none
    return done;
}

Result<void> VolumeMounts::unmount(const std::string& id, const std::string& path) {
    TRY(auto paths, access_paths(id));
    const auto known = std::ranges::find_if(paths, [&](const std::string& one) { return equal_ignoring_case(one, path); });
    if (known == paths.end()) return Error(Reason::NotFound, "the volume is not mounted at " + path);
    TRY_VOID(flush(id));
    TRY_VOID(services_.links.remove(path));
    TRY_VOID(services_.links.create_directories(path));
    paths.erase(known);
    return paths.empty() ? hide(id) : remember(id, paths);
}

Result<csi_proxy::Volumes::Stats> VolumeMounts::stats(const std::string& id) {
    TRY(const bool mounted, is_mounted(id));
    if (!mounted) return Error(Reason::Conflict, "the volume is not mounted");
    TRY(const std::string folder, mounts_.folder_of(place_of(id)));
    TRY(const HeldTree tree, HeldTree::open(services_.root));
    TRY(const HeldSource held, tree.hold(folder));
    struct statfs shape;
    if (::statfs(held.path().c_str(), &shape) != 0) return system_error("looking at a volume");
    return csi_proxy::Volumes::Stats{.total = static_cast<std::int64_t>(shape.f_blocks) * shape.f_bsize,
                                     .used = static_cast<std::int64_t>(shape.f_blocks - shape.f_bfree) * shape.f_bsize};
}

Result<void> VolumeMounts::flush(const std::string& id) {
    TRY(const bool mounted, is_mounted(id));
    if (!mounted) return {};
    TRY(const std::string folder, mounts_.folder_of(place_of(id)));
    TRY(const HeldTree tree, HeldTree::open(services_.root));
    TRY(const HeldSource held, tree.hold(folder));
    const FileHandle root(::open(held.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    return root.is_open() && ::syncfs(root.get()) == 0 ? Result<void>() : system_error("flushing a volume");
}

/// Any mount of the file system will do. The device is attached for as long as it is held here.
Result<void> VolumeMounts::grow(const AttachedDisk& disk) {
    TRY(const LoopDevice loop, LoopDevices().attach(disk.image, partition_of(disk).start));
    TRY_VOID(loop.take_size_of_file());
    return with_file_system(disk, [&](const std::string& directory) { return enlarge_file_system(directory, partition_of(disk).bytes); });
}

Result<void> VolumeMounts::check_unused(const AttachedDisk& disk) {
    for (int look = 0; look < DeviceLooks; ++look) {
        TRY(const auto device, LoopDevices().find(disk.image));
        if (!device) return {};
        ::usleep(BetweenLooks);
    }
    return Error(Reason::Conflict, "disk " + disk.name + " is in use by a container or another program of this machine");
}

Result<void> VolumeMounts::empty_new_file_system(const AttachedDisk& disk) {
    return with_file_system(disk, [](const std::string& directory) -> Result<void> {
        if (::rmdir((directory + "/lost+found").c_str()) != 0 && errno != ENOENT) return system_error("emptying a new file system");
        return ::chmod(directory.c_str(), 0777) == 0 ? Result<void>() : system_error("opening a new file system to everyone");
    });
}

}  // namespace porthole::winhost
