#include "local_cluster/hosts/host_links.h"

#include <filesystem>
#include <sstream>

#include "local_cluster/hosts/host_users.h"

namespace porthole::local_cluster {
namespace {

constexpr const char *MachinePort = "machine", *RouterPort = "router";
/// A router that tells the hosts of shorter ways would be left out of the next packets.
constexpr const char* RouterSettings = "echo 1 >ip_forward; echo 0 >conf/all/send_redirects; echo 0 >conf/eth0/send_redirects";

bool namespace_exists(const std::string& name) { return std::filesystem::exists("/run/netns/" + name); }

std::vector<std::string> ip_in(const std::string& network_namespace) {
    if (network_namespace.empty()) return {"ip"};
    return {"ip", "-netns", network_namespace};
}

}  // namespace

HostLinks::HostLinks(ProcessRunner& processes, const DataDir& data, const Cluster& cluster)
    : processes_(processes),
      data_(data),
      cluster_(cluster),
      own_switch_(cluster.options.bridge.empty()),
      router_(cluster.router_address()) {
    if (!router_.empty()) router_namespace_ = "porthole-" + data_.id() + "-router";
    if (own_switch_) {
        switch_namespace_ = "porthole-" + data_.id() + "-switch";
        return;
    }
    const std::string& given = cluster_.options.bridge;
    const std::size_t at = given.find('@');
    bridge_ = given.substr(0, at);
    if (at != given.npos) switch_namespace_ = given.substr(at + 1);
}

std::string HostLinks::port_of(const NodeHost& node) const {
    // Of a cluster elsewhere the first host is not this machine.
    const int number = cluster_.options.linux_nodes > 0 ? node.number : node.number - cluster_.options.first_host + 1;
    return prefix() + "n" + std::to_string(number);
}

Task<> HostLinks::ip_batch(std::string network_namespace, std::string lines, bool force) {
    if (lines.empty()) co_return {};
    Command command{.arguments = ip_in(network_namespace), .input = std::move(lines)};
    if (force) command.arguments.push_back("-force");
    command.arguments.insert(command.arguments.end(), {"-batch", "-"});
    CO_TRY(const CommandOutput result, co_await processes_.run(std::move(command)));
    if (result.exit_code != 0 && !force) co_return Error(Reason::Io, "setting up the hosts' network: " + result.errors);
    co_return {};
}

Task<std::string> HostLinks::show(std::string network_namespace, std::vector<std::string> what) {
    Command command{.arguments = ip_in(network_namespace)};
    command.arguments.insert(command.arguments.end(), what.begin(), what.end());
    CO_TRY(CommandOutput result, co_await processes_.run(std::move(command)));
    if (result.exit_code != 0) co_return Error(Reason::Io, "reading the hosts' network: " + result.errors);
    co_return std::move(result.output);
}

Task<std::set<std::string>> HostLinks::links_in(std::string network_namespace) {
    CO_TRY(const std::string output, co_await show(std::move(network_namespace), {"-brief", "link"}));
    std::set<std::string> names;
    std::istringstream lines(output);
    for (std::string line; std::getline(lines, line);) names.insert(line.substr(0, line.find_first_of("@ ")));
    co_return names;
}

Task<> HostLinks::ensure() {
    CO_TRY_VOID(co_await ensure_namespaces());
    if (own_switch_) CO_TRY_VOID(co_await ensure_switch());
    if (!router_.empty()) CO_TRY_VOID(co_await ensure_router());
    CO_TRY_VOID(co_await ensure_ports());
    co_return co_await ensure_addresses();
}

Task<> HostLinks::ensure_namespaces() {
    std::string lines = "link set lo up\n";
    if (own_switch_ && !namespace_exists(switch_namespace_)) lines += "netns add " + switch_namespace_ + "\n";
    if (!router_.empty() && !namespace_exists(router_namespace_)) lines += "netns add " + router_namespace_ + "\n";
    std::vector<NodeHost> emulated;
    for (const NodeHost& node : cluster_.nodes(data_)) {
        if (node.network_namespace.empty() || namespace_exists(node.network_namespace)) continue;
        lines += "netns add " + node.network_namespace + "\n";
        if (node.is_windows()) emulated.push_back(node);
    }
    CO_TRY_VOID(co_await ip_batch("", std::move(lines)));
    for (const NodeHost& node : emulated) CO_TRY_VOID(give_network_to_host(node.network_namespace, data_.node(node.name).string()));
    co_return {};
}

Task<> HostLinks::ensure_switch() {
    CO_TRY(const auto ours, co_await links_in(""));
    if (!ours.contains(prefix())) {
        const std::string address = cluster_.server_address() + "/" + std::to_string(prefix_length(cluster_.options.node_cidr));
        CO_TRY_VOID(co_await ip_batch("", "link add " + prefix() + " type veth peer name " + MachinePort + " netns " + switch_namespace_ +
                                              "\naddr add " + address + " dev " + prefix() + "\nlink set " + prefix() + " up\n"));
    }
    std::string further;  // of further API servers
    for (const std::string& address : cluster_.server_addresses())
        if (address != cluster_.server_address()) further += "addr replace " + address + "/32 dev " + prefix() + "\n";
    CO_TRY_VOID(co_await ip_batch("", std::move(further)));
    CO_TRY(const auto there, co_await links_in(switch_namespace_));
    const std::string make = there.contains(bridge_) ? "" : "link add " + bridge_ + " type bridge\nlink set " + bridge_ + " up\n";
    co_return co_await ip_batch(switch_namespace_, make + "link set " + MachinePort + " master " + bridge_ + " up\n");
}

Task<> HostLinks::ensure_router() {
    CO_TRY(const auto there, co_await links_in(switch_namespace_));
    if (!there.contains(RouterPort)) {
        CO_TRY_VOID(co_await ip_batch(switch_namespace_, std::string("link add ") + RouterPort + " type veth peer name eth0 netns " +
                                                             router_namespace_ + "\nlink set " + RouterPort + " master " + bridge_ +
                                                             " up\n"));
    }
    const std::string &pods = cluster_.options.cluster_cidr, length = "/" + std::to_string(prefix_length(cluster_.options.node_cidr));
    // Pods that no node has are unreachable; else they would go in circles between the router and this machine.
    CO_TRY_VOID(co_await ip_batch(router_namespace_, "link set lo up\naddr replace " + router_ + length +
                                                         " dev eth0\nlink set eth0 up\nroute replace default via " +
                                                         cluster_.server_address() + "\nroute replace unreachable " + pods + "\n"));
    Command settings{
        .arguments = {"ip", "netns", "exec", router_namespace_, "sh", "-ec", std::string("cd /proc/sys/net/ipv4; ") + RouterSettings}};
    CO_TRY(const CommandOutput set, co_await processes_.run(std::move(settings)));
    if (set.exit_code != 0) co_return Error(Reason::Io, "setting up the emulated router: " + set.errors);
    co_return co_await ip_batch("", "route replace " + pods + " via " + router_ + " dev " + prefix() + "\n");
}

Task<> HostLinks::route_pods(NodeHost node, IpPrefix pod_range) {
    co_return co_await ip_batch(router_namespace_, "route replace " + pod_range.to_string() + " via " + node.address + "\n");
}

Task<> HostLinks::ensure_ports() {
    CO_TRY(const auto there, co_await links_in(switch_namespace_));
    std::string lines;
    for (const NodeHost& node : cluster_.nodes(data_)) {
        const std::string port = port_of(node);
        if (node.network_namespace.empty() || there.contains(port)) continue;
        lines += "link add " + port + " type veth peer name eth0 netns " + node.network_namespace + "\n";
        lines += "link set " + port + " master " + bridge_ + " up\n";
    }
    co_return co_await ip_batch(switch_namespace_, std::move(lines));
}

Task<> HostLinks::ensure_addresses() {
    const std::string length = "/" + std::to_string(prefix_length(cluster_.options.node_cidr));
    const std::string gateway = router_.empty() ? cluster_.server_address() : router_;
    for (const NodeHost& node : cluster_.nodes(data_)) {
        if (node.network_namespace.empty()) continue;
        // Where eth0 is a port of an emulated host's virtual switch, the switch has taken its address, and keeps it for the host that is
        // started again. Asked of eth0 alone: a list of all addresses may lack some while links of dead pods disappear.
        CO_TRY(const std::string link, co_await show(node.network_namespace, {"-oneline", "link", "show", "dev", "eth0"}));
        const std::string add = link.contains(" master ") ? "" : "addr replace " + node.address + length + " dev eth0\n";
        CO_TRY_VOID(co_await ip_batch(node.network_namespace,
                                      "link set lo up\n" + add + "link set eth0 up\nroute replace default via " + gateway + "\n"));
    }
    co_return {};
}

Task<> HostLinks::remove_host(NodeHost node) {
    if (node.network_namespace.empty() || !namespace_exists(node.network_namespace)) co_return {};
    // The port would go with its other end, but only a moment after the namespace.
    CO_TRY_VOID(co_await ip_batch(switch_namespace_, "link del " + port_of(node) + "\n", true));
    if (!router_.empty() && namespace_exists(router_namespace_))
        CO_TRY_VOID(co_await ip_batch(router_namespace_, "route flush via " + node.address + "\n", true));
    co_return co_await ip_batch("", "netns del " + node.network_namespace + "\n");
}

Task<> HostLinks::remove() {
    std::string lines, ports;
    for (const NodeHost& node : cluster_.all_hosts(data_)) {
        ports += "link del " + port_of(node) + "\n";
        if (!node.network_namespace.empty() && namespace_exists(node.network_namespace))
            lines += "netns del " + node.network_namespace + "\n";
    }
    if (own_switch_) {
        CO_TRY(const auto ours, co_await links_in(""));
        if (ours.contains(prefix())) lines += "link del " + prefix() + "\n";
        for (const std::string& name : {switch_namespace_, router_namespace_})
            if (!name.empty() && namespace_exists(name)) lines += "netns del " + name + "\n";
    } else {
        // Ports whose other end is gone with its namespace are gone, too.
        CO_TRY_VOID(co_await ip_batch(switch_namespace_, std::move(ports), true));
    }
    co_return co_await ip_batch("", std::move(lines), true);
}

}  // namespace porthole::local_cluster
