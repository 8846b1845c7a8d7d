#include "cmd/pods.h"

namespace porthole::cmd {

Task<> remove_node_rules(ProcessRunner& processes, const Cluster&) {
    for (const char* table : {"porthole-proxy", "porthole-network"}) {
        (void)co_await processes.run({.arguments = {"nft", "delete", "table", "ip", table}});
    }
    (void)co_await processes.run({.arguments = {"ip", "link", "del", "cni0"}});
    // The node network marks its routes with this protocol number.
    (void)co_await processes.run({.arguments = {"ip", "route", "flush", "table", "all", "proto", "80"}});
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

}  // namespace porthole::cmd
