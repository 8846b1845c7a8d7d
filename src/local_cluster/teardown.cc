#include "local_cluster/teardown.h"

#include <signal.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "local_cluster/emulated_host.h"
#include "runtime/files/mounts.h"
#include "teardown/teardown.h"

namespace porthole::local_cluster {
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

Task<> end_all(AsioLoop& loop, std::vector<ProcessId> processes) {
    for (const ProcessId& process : processes) send_signal(process, SIGKILL);
    for (const ProcessId& process : processes) CO_TRY_VOID(co_await wait_for_exit(loop, process));
    co_return {};
}

}  // namespace

Task<> clean_up(AsioLoop& loop, ProcessRunner& processes, const DataDir& data, const Cluster& cluster) {
    for (const NodeHost& node : cluster.nodes(data)) {
        if (node.is_windows()) {
            EmulatedHost host(loop, processes, data, node);
            CO_TRY_VOID(co_await host.clean_up());
            continue;
        }
        // In good order where containerd answers: it also takes back addresses and port mappings.
        (void)co_await with_timeout(teardown::remove_pods(loop, data.containerd_socket(node.name).string()), 20s, "removing pods");
    }
    CO_TRY_VOID(co_await teardown::remove_node_rules(processes));
    CO_TRY_VOID(co_await end_all(loop, processes_with(data.runtime().string() + "/")));
    const auto unmounted = unmount_below(data.runtime().string());
    const auto data_unmounted = unmount_below(data.root().string());
    teardown::remove_cgroups("porthole-" + data.id());
    std::error_code error;
    if (unmounted) fs::remove_all(data.runtime(), error);  // never through a mount
    co_return unmounted ? data_unmounted : unmounted;
}

}  // namespace porthole::local_cluster
