#include "teardown/teardown.h"

#include <unistd.h>

#include <filesystem>
#include <ranges>
#include <sstream>

#include "base/strings.h"
#include "netlink/network_stack.h"
#include "node_network/configuration.h"
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

/// Whether a listing of a table "nat" has only the chains that iptables makes by itself, without rules.
bool is_empty_nat_table(const std::string& listing) {
    std::istringstream lines(listing);
    for (std::string line; std::getline(lines, line);) {
        const std::string_view text = trim(line);
        const bool plain = text.empty() || text == "}" || text.starts_with('#') || text == "table ip nat {" || text == "table ip6 nat {" ||
                           (text.starts_with("chain ") && text.ends_with(" {")) ||
                           (text.starts_with("type nat hook ") && text.ends_with("; policy accept;"));
        if (!plain) return false;
    }
    return !listing.empty();
}

/// The tables that the port-mapping plugin's iptables has made. iptables makes them again when it needs them.
Task<> remove_empty_nat_tables(ProcessRunner& processes) {
    for (const char* family : {"ip", "ip6"}) {
        const auto listed = co_await processes.run({.arguments = {"nft", "list", "table", family, "nat"}});
        if (listed && listed->exit_code == 0 && is_empty_nat_table(listed->output))
            (void)co_await processes.run({.arguments = {"nft", "delete", "table", family, "nat"}});
    }
    co_return {};
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
    co_return co_await remove_empty_nat_tables(processes);
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
