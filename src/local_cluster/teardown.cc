#include "local_cluster/teardown.h"

#include <signal.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "local_cluster/hosts/emulated_host.h"
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

Task<> clean_up_host(AsioLoop& loop, ProcessRunner& processes, const DataDir& data, NodeHost node) {
    if (node.is_windows()) {
        EmulatedHost host(loop, processes, data, node);
        co_return co_await host.clean_up();
    }
    // In good order where containerd answers: it also takes back addresses and port mappings.
    (void)co_await with_timeout(teardown::remove_pods(loop, data.containerd_socket(node.name).string()), 20s, "removing pods");
    co_return {};
}

Task<> remove_host_files(AsioLoop& loop, const DataDir& data, NodeHost node) {
    CO_TRY_VOID(co_await end_all(loop, processes_with(data.runtime(node.name).string() + "/")));
    teardown::remove_cgroups("porthole-" + data.id() + "/" + node.name);
    for (const fs::path& folder : {data.runtime(node.name), data.node(node.name)}) {
        CO_TRY_VOID(unmount_below(folder.string()));
        std::error_code error;
        fs::remove_all(folder, error);
        if (error) co_return Error(Reason::Io, "cannot remove " + folder.string() + ": " + error.message());
    }
    co_return {};
}

Task<> clean_up(AsioLoop& loop, ProcessRunner& processes, const DataDir& data, const Cluster& cluster) {
    for (NodeHost& node : cluster.all_hosts(data)) CO_TRY_VOID(co_await clean_up_host(loop, processes, data, std::move(node)));
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
