#include "cmd/host_links.h"

#include <net/if.h>

namespace porthole::cmd {
namespace {

bool link_exists(const std::string& name) { return ::if_nametoindex(name.c_str()) != 0; }

std::filesystem::path namespace_path(const std::string& name) { return "/run/netns/" + name; }

}  // namespace

Task<> HostLinks::ip_batch(std::string lines, bool force) {
    Command command{.arguments = {"ip"}, .input = std::move(lines)};
    if (force) command.arguments.push_back("-force");
    command.arguments.insert(command.arguments.end(), {"-batch", "-"});
    CO_TRY(const CommandOutput result, co_await processes_.run(std::move(command)));
    if (result.exit_code != 0 && !force) co_return Error(Reason::Io, "setting up the hosts' network: " + result.errors);
    co_return {};
}

Task<> HostLinks::ensure() {
    const std::string length = "/" + std::to_string(prefix_length(cluster_.options.node_cidr));
    const std::string gateway = cluster_.server_address();
    std::string lines;
    if (cluster_.options.bridge.empty() && !link_exists(bridge())) {
        lines += "link add " + bridge() + " type bridge\n";
        lines += "addr add " + gateway + length + " dev " + bridge() + "\n";
        lines += "link set " + bridge() + " up\nlink set lo up\n";
    }
    int number = 0;
    for (const NodeHost& node : cluster_.nodes(data_)) {
        ++number;
        if (node.network_namespace.empty()) continue;
        const std::string& space = node.network_namespace;
        const std::string port = prefix() + "n" + std::to_string(number);
        if (!std::filesystem::exists(namespace_path(space))) lines += "netns add " + space + "\n";
        if (link_exists(port)) continue;
        lines += "link add " + port + " type veth peer name eth0 netns " + space + "\n";
        lines += "link set " + port + " master " + bridge() + " up\n";
    }
    CO_CHECK(co_await ip_batch(std::move(lines), false));

    for (const NodeHost& node : cluster_.nodes(data_)) {
        if (node.network_namespace.empty()) continue;
        Command command{.arguments = {"ip", "-netns", node.network_namespace, "-batch", "-"}};
        command.input = "link set lo up\naddr replace " + node.address + length +
                        " dev eth0\nlink set eth0 up\nroute replace default via " + gateway + "\n";
        CO_TRY(const CommandOutput result, co_await processes_.run(std::move(command)));
        if (result.exit_code != 0) {
            co_return Error(Reason::Io, "setting up the network of " + node.name + ": " + result.errors);
        }
    }
    co_return {};
}

Task<> HostLinks::remove() {
    std::string lines;
    if (link_exists(prefix())) lines += "link del " + prefix() + "\n";
    int number = 0;
    for (const NodeHost& node : cluster_.nodes(data_)) {
        ++number;
        if (node.network_namespace.empty()) continue;
        const std::string port = prefix() + "n" + std::to_string(number);
        if (link_exists(port)) lines += "link del " + port + "\n";
        if (std::filesystem::exists(namespace_path(node.network_namespace))) {
            lines += "netns del " + node.network_namespace + "\n";
        }
    }
    if (lines.empty()) co_return {};
    co_return co_await ip_batch(std::move(lines), true);
}

}  // namespace porthole::cmd
