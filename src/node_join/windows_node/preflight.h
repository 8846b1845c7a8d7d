#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "net/interface_address.h"
#include "node_join/windows_node/node_plan.h"

namespace porthole::node_join {

/// The facts that `join` checks before it changes anything.
struct HostFacts {
    bool elevated = false;
    std::uint32_t build = 0;                 ///< of Windows: 20348
    std::string network_service;             ///< "" if the host network service can be used, else why not
    bool runtime_answers = false;            ///< there is a pipe of the container runtime's name
    std::string adapter;                     ///< MAC of the interface with the node's address, "" for none
    std::vector<std::uint16_t> taken_ports;  ///< needed by a node, and used by programs other than this node's own services
    std::vector<std::string> stale_files;    ///< of an earlier set-up by scripts
    std::string foreign_service;             ///< a service with one of our names that belongs to another program; "" for none
    std::string proxy, no_proxy;             ///< machine-wide variables
    std::uint64_t page_file = 0;             ///< bytes beyond the physical memory
    std::uint32_t processors = 1;
};

enum class CheckOutcome { Pass, Warn, Fail };

/// One check's result.
struct Check {
    std::string id;  ///< stable, for scripts: "runtime"
    CheckOutcome outcome = CheckOutcome::Pass;
    std::string text, remedy;  ///< the remedy is "" for a passed check
};

/// All checks, in the order in which a person would go through them.
std::vector<Check> preflight(const HostFacts& facts, const WindowsNode& node);

/// The IPv4 address of the adapter of that name, which is "vEthernet (NAME)" once there is a switch on it. Error: NotFound, with `all`.
Result<std::string> address_of_adapter(const std::string& name, const std::vector<net::Interface>& all);

/// How far this machine's clock is behind the start of a certificate that the cluster has just issued; none or a few seconds as a rule.
Check check_clock(std::int64_t seconds_behind);

/// The ranges and names that must not go through a proxy: the existing ones and those that the cluster needs.
std::string completed_no_proxy(const std::string& no_proxy, const WindowsNode& node);

/// Whether Windows of this build can be a node.
bool is_supported_build(std::uint32_t build);

}  // namespace porthole::node_join
