#include "cmd/node_traces.h"

#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <ranges>
#include <sstream>

namespace porthole::cmd {
namespace {

namespace fs = std::filesystem;

bool is_below(const std::string& path, const std::string& folder) {
    return path == folder || (path.starts_with(folder) && path[folder.size()] == '/');
}

void remove_cgroup(const fs::path& group) {
    std::error_code error;
    std::vector<fs::path> folders;
    for (const auto& entry : fs::recursive_directory_iterator(group, error)) {
        if (entry.is_directory(error)) folders.push_back(entry.path());
    }
    for (const fs::path& folder : std::views::reverse(folders)) ::rmdir(folder.c_str());
    ::rmdir(group.c_str());
}

}  // namespace

/// Deepest first, so that nothing is busy because of what lies above it.
void unmount_below(const std::vector<std::string>& folders) {
    std::ifstream mounts("/proc/self/mountinfo");
    std::vector<std::string> points;
    for (std::string line; std::getline(mounts, line);) {
        std::istringstream fields(line);
        std::string skipped, point;
        fields >> skipped >> skipped >> skipped >> skipped >> point;
        if (std::ranges::any_of(folders, [&](const std::string& folder) { return is_below(point, folder); })) {
            points.push_back(point);
        }
    }
    for (const std::string& point : std::views::reverse(points)) ::umount2(point.c_str(), MNT_DETACH);
}

/// A cgroup v2 tree is the root itself; in v1 every controller has a tree.
void remove_cgroups(const std::string& name) {
    const fs::path root = "/sys/fs/cgroup";
    remove_cgroup(root / name);
    std::error_code error;
    for (const auto& controller : fs::directory_iterator(root, error)) {
        if (!controller.is_symlink(error)) remove_cgroup(controller.path() / name);
    }
}

}  // namespace porthole::cmd
