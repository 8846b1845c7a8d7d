#include "teardown/teardown.h"

#include <unistd.h>

#include <filesystem>
#include <ranges>

#include "netlink/network_stack.h"
#include "node_network/plan.h"
#include "proxy/nftables/layout.h"

namespace porthole::teardown {
namespace {

namespace fs = std::filesystem;

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

Task<> remove_node_rules(ProcessRunner& processes) {
    const cni::NodeNetworkOptions network;
    for (const std::string& table : {std::string(proxy::nftables::TableName), network.nft_table}) {
        (void)co_await processes.run({.arguments = {"nft", "delete", "table", "ip", table}});
    }
    (void)co_await processes.run({.arguments = {"ip", "link", "del", network.bridge}});
    (void)co_await processes.run({.arguments = {"ip", "route", "flush", "table", "all", "proto", std::to_string(net::OwnRouteProtocol)}});
    // The port-mapping plugin leaves its hooks and chains behind when the last pod goes.
    for (const std::vector<std::string>& words :
         {std::vector<std::string>{"-D", "PREROUTING", "-m", "addrtype", "--dst-type", "LOCAL", "-j", "CNI-HOSTPORT-DNAT"},
          {"-D", "OUTPUT", "-m", "addrtype", "--dst-type", "LOCAL", "-j", "CNI-HOSTPORT-DNAT"},
          {"-D", "POSTROUTING", "-m", "comment", "--comment", "CNI portfwd requiring masquerade", "-j", "CNI-HOSTPORT-MASQ"},
          {"-F", "CNI-HOSTPORT-DNAT"},
          {"-X", "CNI-HOSTPORT-DNAT"},
          {"-F", "CNI-HOSTPORT-SETMARK"},
          {"-F", "CNI-HOSTPORT-MASQ"},
          {"-X", "CNI-HOSTPORT-SETMARK"},
          {"-X", "CNI-HOSTPORT-MASQ"}}) {
        Command command{.arguments = {"iptables", "-t", "nat"}};
        command.arguments.insert(command.arguments.end(), words.begin(), words.end());
        const auto done = co_await processes.run(std::move(command));
        if (!done) break;  // no iptables, no such rules
    }
    co_return {};
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

}  // namespace porthole::teardown
