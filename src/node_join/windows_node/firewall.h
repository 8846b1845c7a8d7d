#pragma once
#include "node_join/windows_node/node_plan.h"
#include "runtime/processes/process.h"

namespace porthole::node_join {

/// Creates the rule, or replaces it. Error: Unavailable if Windows' firewall does not show it afterwards, as under Wine.
Task<> ensure_firewall_rule(ProcessRunner& processes, FirewallRule rule);
/// Success if there is none.
Task<> remove_firewall_rule(ProcessRunner& processes, std::string name);

}  // namespace porthole::node_join
