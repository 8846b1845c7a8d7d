#pragma once
#include <string>

#include "cmd/cluster.h"
#include "cmd/pod_removal.h"
#include "runtime/process.h"

namespace porthole::cmd {

/// Removes the bridge, routes and rules that a node's agent keeps in the machine's own network namespace.
Task<> remove_node_rules(ProcessRunner& processes, const Cluster& cluster);

}  // namespace porthole::cmd
