#include "local_cluster/start.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <thread>

#include "local_cluster/child_process.h"
#include "local_cluster/emulated_host.h"
#include "local_cluster/progress_pipe.h"
#include "node_join/agent_options.h"
#include "runtime/files/durable_file.h"
#include "runtime/files/file_lock.h"

namespace porthole::local_cluster {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

/// Whether PATH has `program`.
bool in_path(const std::string& program) {
    const std::string path = std::getenv("PATH") ? std::getenv("PATH") : "";
    for (std::size_t start = 0; start <= path.size();) {
        const std::size_t end = std::min(path.find(':', start), path.size());
        if (::access((path.substr(start, end - start) + "/" + program).c_str(), X_OK) == 0) return true;
        start = end + 1;
    }
    return false;
}

ChildCommand supervise_command(const DataDir& data) {
    return {.arguments = {own_program().string(), "supervise", "--data", data.root().string()}, .log_file = data.logs() / "supervisor.log"};
}

Result<ProcessId> start_supervisor(const DataDir& data, ProgressReport& progress) {
    int pipe[2];
    CHECK(::pipe2(pipe, O_CLOEXEC) == 0);
    ChildCommand command = supervise_command(data);
    command.arguments.push_back("--report");
    command.inherited_fd = pipe[1];
    auto child = start_child(command);
    ::close(pipe[1]);
    if (!child) {
        ::close(pipe[0]);
        return child;
    }
    if (!follow_progress(pipe[0], progress)) {
        return Error(Reason::Unavailable, "the cluster did not start; its logs are in " + data.logs().string());
    }
    return child;
}

}  // namespace

Result<void> check_programs(const ClusterOptions& options) {
    std::string missing;
    const auto need = [&](bool there, const char* package) {
        if (!there) missing += std::string(" ") + package;
    };
    if (options.linux_nodes > 0) need(in_path("containerd"), "containerd");
    need(in_path("runc"), "runc");
    need(in_path("ip"), "iproute2");
    need(in_path("nft"), "nftables");
    if (options.linux_nodes > 0) need(path_exists("/usr/lib/cni/bridge"), "containernetworking-plugins");
    if (options.servers > 1) need(in_path("etcd"), "etcd-server");
    if (!missing.empty()) return Error(Reason::NotFound, "programs are missing; install them with: apt-get install" + missing);
    std::error_code code;
    if (std::filesystem::is_empty("/sys/fs/cgroup", code) || code) {
        return Error(Reason::Unavailable,
                     "no control groups are mounted at /sys/fs/cgroup, and containers need them: mount -t cgroup2 none /sys/fs/cgroup "
                     "(in a network namespace: `nsenter --net=` keeps them, `ip netns exec` does not)");
    }
    if (!options.windows_nodes.empty()) return EmulatedHost::preflight();
    return {};
}

bool port_is_free(std::uint16_t port, const std::string& where) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int yes = 1;
    ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    if (!where.empty() && ::inet_pton(AF_INET, where.c_str(), &address.sin_addr) != 1) return false;
    const bool free = ::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    ::close(fd);
    return free;
}

namespace {

Result<void> check_ports(const Cluster& cluster) {
    const ClusterOptions& options = cluster.options;
    if (options.servers > 1 && options.port == 65535)
        return Error(Reason::BadRequest, "--port 65535 has no next port, which several servers need; choose another");
    const auto runs = [&](std::string_view prefix) {
        return std::ranges::any_of(cluster.processes,
                                   [&](const auto& process) { return process.first.starts_with(prefix) && is_running(process.second); });
    };
    // A process of its own is adopted.
    std::vector<std::uint16_t> ports;
    if (!runs("server")) ports.push_back(options.port);
    if (options.servers > 1 && !runs(options.host_prefix + "linux-1/agent")) ports.push_back(cluster.balancer_port());
    for (const std::uint16_t port : ports)
        if (!port_is_free(port))
            return Error(Reason::AlreadyExists, "port " + std::to_string(port) + " is in use; choose another with --port");
    // The first node is the machine itself. Another node's bridge and rules would be lost with the start of this one.
    const std::uint16_t kubelet_port = node_join::AgentOptions{}.kubelet_port;
    if (options.linux_nodes > 0 && !runs(options.host_prefix + "linux-1/agent") && !port_is_free(kubelet_port))
        return Error(Reason::AlreadyExists, "this machine is a node of another cluster already: its kubelet has port " +
                                                std::to_string(kubelet_port) + "; end that first, by `porthole down` or `porthole reset`");
    return {};
}

}  // namespace

Result<void> check_machine(const Cluster& cluster) {
    const ClusterOptions& options = cluster.options;
    TRY_VOID(check_programs(options));
    if (options.foreign) {
        const std::size_t last = static_cast<std::size_t>(options.first_host) + options.windows_nodes.size();
        TRY_VOID(address_in(options.node_cidr, static_cast<unsigned>(last)));
        return {};
    }
    TRY_VOID(check_networks(options));
    return check_ports(cluster);
}

namespace {

/// What an earlier supervisor has left is adopted as it is.
bool has_processes(const Cluster& cluster) {
    return std::ranges::any_of(cluster.processes, [](const auto& process) { return is_running(process.second); });
}

/// The supervisor removes the hosts that are not asked for any more. Nobody can say what the data of claims on them are worth.
Result<void> check_surplus(const DataDir& data, const Cluster& cluster) {
    for (const NodeHost& host : cluster.surplus_hosts(data)) {
        for (const char* folder : {"kubelet/local-volumes", "C/var/lib/kubelet/local-volumes"}) {
            std::error_code ignored;
            const fs::path volumes = data.node(host.name) / folder;
            if (!fs::exists(volumes, ignored) || fs::is_empty(volumes, ignored)) continue;
            return Error(Reason::Conflict,
                         "the data of claims are on " + host.name +
                             ", which would be removed: start the cluster with it, delete the claims and take it away then");
        }
    }
    return {};
}

}  // namespace

Result<Cluster> planned_cluster(const DataDir& data, const ClusterOptions& options, bool& running) {
    if (options.port == 0) return Error(Reason::BadRequest, "--port 0: the API server needs a port from 1 to 65535");
    auto known = Cluster::load(data);
    running = known && is_running(known->supervisor);
    if (!known) return Cluster{.options = options};
    // What is encrypted could not be read without it.
    ClusterOptions wanted = options;
    wanted.hardened = wanted.hardened || known->options.hardened;
    if ((running || (!known->options.foreign && has_processes(*known))) && !(known->options == wanted))
        TRY_VOID(check_resize(known->options, wanted, "end it first with `porthole down" + data.flag() + "`"));
    if (running) return known;
    if (path_exists(data.store()) || path_exists(data.store_location()))
        TRY_VOID(check_restart(known->options, wanted,
                               "leave the option out, or delete the cluster first with `porthole down --purge" + data.flag() + "`"));
    if (known->options.servers != wanted.servers) {
        // Until they are in etcd, a start with several servers that has failed can be one with another number, also with one.
        if (known->options.servers != 1 && path_exists(data.store_location()))
            return Error(Reason::AlreadyExists,
                         "the cluster in " + data.root().string() + " has " + std::to_string(known->options.servers) +
                             " servers, and only one server can become several: write --servers " + std::to_string(known->options.servers) +
                             ", or move it by `porthole backup` and `porthole restore`");
        known->etcd = {};
    }
    known->number_hosts(data);  // as they are
    if (!known->host_numbers.empty() && known->options.host_prefix != wanted.host_prefix)
        return Error(Reason::AlreadyExists, "the hosts in " + data.root().string() + " are called " + known->options.host_prefix +
                                                "...: keep --prefix, or remove them first with `porthole down --purge" + data.flag() + "`");
    known->options = std::move(wanted);
    TRY_VOID(check_surplus(data, *known));
    return known;
}

Result<void> start_cluster(const DataDir& data, Cluster& cluster, ProgressReport& progress) {
    std::error_code error;
    fs::create_directories(data.logs(), error);
    if (error) return Error(Reason::Io, "cannot make " + data.logs().string() + ": " + error.message());
    TRY_VOID(cluster.save(data));
    // What was asked of an earlier supervisor is over: this is what is wanted now.
    for (const fs::path& file : {data.wanted_nodes_file(), data.taken_nodes_file()}) fs::remove(file, error);
    const auto supervisor = start_supervisor(data, progress);
    if (supervisor) {
        cluster.supervisor = *supervisor;
        return {};
    }
    // A server that had lost its supervisor may have started one in the same moment: then ours leaves the cluster to that.
    auto others = Cluster::load(data);
    for (int round = 0; round < 20 && others && !is_running(others->supervisor); ++round) {
        const auto free = FileLock::try_take(data.supervisor_lock().string());
        if (!free || *free) break;
        std::this_thread::sleep_for(100ms);  // it writes its name down a moment after it has begun
        others = Cluster::load(data);
    }
    if (!others || !is_running(others->supervisor)) return supervisor.error();
    cluster = *std::move(others);
    return {};
}

Task<> revive_supervisors(AsioLoop& loop, DataDir data, Logger log) {
    for (;;) {
        CO_TRY(const Cluster cluster, Cluster::load(data));
        if (is_running(cluster.supervisor)) {
            CO_TRY_VOID(co_await wait_for_exit(loop, cluster.supervisor));
            continue;
        }
        log.warn("the supervisor has died; starting a new one", {{"pid", cluster.supervisor.pid}});
        CO_TRY_VOID(start_child(supervise_command(data)));
        CO_TRY_VOID(co_await loop.sleep(2s));  // it writes its name down first
    }
}

}  // namespace porthole::local_cluster
