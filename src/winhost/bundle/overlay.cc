#include "winhost/bundle/overlay.h"

#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "runtime/files/file_system.h"
#include "runtime/files/mounts.h"

namespace porthole::winhost {
namespace {

Result<void> mount_folders(const OverlayFolders& folders, const std::string& target) {
    std::string options = "lowerdir=";
    for (const std::string& lower : folders.lowers) options += (&lower == &folders.lowers.front() ? "" : ":") + lower;
    options += ",upperdir=" + folders.upper + ",workdir=" + folders.work;
    if (options.size() >= static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)))
        return Error(Reason::Invalid, "an image of " + std::to_string(folders.lowers.size()) +
                                          " layers does not fit into one overlay mount here; a shorter data directory helps");
    if (::mount("overlay", target.c_str(), "overlay", MS_NODEV | MS_NOSUID, options.c_str()) != 0)
        return Error(Reason::Io, "mounting the container's file system at " + target + ": " + std::strerror(errno));
    return {};
}

Result<std::string> make_folder(std::string path) {
    if (::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) return path;
    return Error(Reason::Io, "mkdir " + path + ": " + std::strerror(errno));
}

/// The folders as they are seen through mounts below `stage`. upper and work must be on one of them.
Result<OverlayFolders> show(const OverlayFolders& folders, const OwnerMap& owners, const std::string& stage) {
    OverlayFolders shown;
    for (const std::string& lower : folders.lowers) {
        TRY(const std::string place, make_folder(join_path(stage, std::to_string(shown.lowers.size()))));
        TRY_VOID(owners.mount(lower, place));
        shown.lowers.push_back(place);
    }
    TRY(const std::string place, make_folder(join_path(stage, "own")));
    TRY_VOID(owners.mount(parent_path(folders.upper), place));
    shown.upper = join_path(place, base_name(folders.upper));
    shown.work = join_path(place, base_name(folders.work));
    return shown;
}

}  // namespace

Result<void> mount_overlay(const OverlayFolders& folders, const std::string& target, const OwnerMap* owners) {
    if (!owners) return mount_folders(folders, target);
    TRY(const std::string stage, make_folder(join_path(parent_path(folders.upper), "layers")));
    const auto shown = show(folders, *owners, stage);
    const auto mounted = shown ? mount_folders(*shown, target) : Result<void>(shown.error());
    TRY_VOID(unmount_below(stage));  // the overlay has mounts of its own
    return mounted;
}

bool is_mounted(const std::string& target) {
    const auto points = mount_points();
    return points && std::ranges::find(*points, target) != points->end();
}

}  // namespace porthole::winhost
