#include "local_cluster/hosts/machine_check.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "local_cluster/hosts/emulated_host.h"
#include "local_cluster/processes/child_process.h"
#include "node_join/agent_options.h"
#include "runtime/files/durable_file.h"
#include "winhost/template/wine_template.h"

namespace porthole::local_cluster {
namespace {

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
    if (options.windows_nodes.empty()) return {};
    std::set<std::string> wine_roots;
    for (const WindowsNode& node : options.windows_nodes) wine_roots.insert(node.wine_root_in(options.wine_root));
    wine_roots.erase("");
    for (const std::string& wine_root : wine_roots) TRY_VOID(winhost::check_wine_root(wine_root));
    return EmulatedHost::preflight();
}

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

}  // namespace porthole::local_cluster
