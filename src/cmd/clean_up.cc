#include <signal.h>
#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <ranges>
#include <sstream>

#include "cmd/pods.h"
#include "cmd/supervisor.h"

namespace porthole::cmd {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

/// The processes whose command line holds `text`: how a shim is known to be ours, by the socket it serves.
std::vector<ProcessId> processes_with(const std::string& text) {
    std::vector<ProcessId> found;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator("/proc", error)) {
        const int pid = std::atoi(entry.path().filename().c_str());
        if (pid <= 1 || pid == ::getpid()) continue;
        std::ifstream file(entry.path() / "cmdline", std::ios::binary);
        std::ostringstream line;
        line << file.rdbuf();
        if (line.str().find(text) != std::string::npos) found.push_back(identify(pid));
    }
    return found;
}

bool is_below(const std::string& path, const std::string& folder) {
    return path == folder || (path.starts_with(folder) && path[folder.size()] == '/');
}

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

void remove_cgroup(const fs::path& group) {
    std::error_code error;
    std::vector<fs::path> folders;
    for (const auto& entry : fs::recursive_directory_iterator(group, error)) {
        if (entry.is_directory(error)) folders.push_back(entry.path());
    }
    for (const fs::path& folder : std::views::reverse(folders)) ::rmdir(folder.c_str());
    ::rmdir(group.c_str());
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

Task<> end_all(AsioLoop& loop, std::vector<ProcessId> processes) {
    for (const ProcessId& process : processes) send_signal(process, SIGKILL);
    for (const ProcessId& process : processes) CO_CHECK(co_await wait_for_exit(loop, process));
    co_return {};
}

}  // namespace

Task<> clean_up(AsioLoop& loop, ProcessRunner& processes, const DataDir& data, const Cluster& cluster) {
    for (const NodeHost& node : cluster.nodes(data)) {
        // In good order where containerd answers: it also takes back addresses and port mappings.
        (void)co_await with_timeout(remove_pods(loop, data.containerd_socket(node.name).string()), 20s, "removing pods");
    }
    CO_CHECK(co_await remove_node_rules(processes, cluster));
    CO_CHECK(co_await end_all(loop, processes_with(data.runtime().string() + "/")));
    unmount_below({data.runtime().string(), (data.root() / "nodes").string(), data.root().string()});
    remove_cgroups("porthole-" + data.id());
    std::error_code error;
    fs::remove_all(data.runtime(), error);
    co_return {};
}

}  // namespace porthole::cmd
