#pragma once
#include <string>

#include "cmd/cluster.h"
#include "runtime/process.h"

namespace porthole::cmd {

/// Stops and removes every sandbox that the runtime behind `socket` has. Error: Unavailable when it does not answer.
Task<> remove_pods(AsioLoop& loop, std::string socket);
/// Removes the bridge, routes and rules that a node's agent keeps in the machine's own network namespace.
Task<> remove_node_rules(ProcessRunner& processes, const Cluster& cluster);

}  // namespace porthole::cmd
