#pragma once
#include <functional>
#include <string>

#include "runtime/processes/process.h"
#include "runtime/task.h"

namespace porthole {
class AsioLoop;
}
namespace porthole::hns {
class Hns;
}

/// Removes a node's leftovers from its machine. Every function may be called in any state of the node, repeated after a failure, and called
/// when there is nothing to remove.
namespace porthole::teardown {

/// Stops and removes every sandbox that the runtime at this endpoint has. Error: Unavailable if it does not answer.
Task<> remove_pods(AsioLoop& loop, std::string endpoint);

/// Removes the HNS network of this name with everything that depends on it: load balancers of its endpoints, then the endpoints. `report`
/// gets a line for each removed object.
Task<> remove_pod_network(hns::Hns& hns, std::string name, std::function<void(const std::string& text)> report);

// Linux only.

/// Removes the bridge, routes and rules that a node's agent maintains in the network namespace of the caller.
Task<> remove_node_rules(ProcessRunner& processes);
/// Removes the empty cgroups of that name and below it, in the one tree of version 2 or in every tree of version 1.
void remove_cgroups(const std::string& name);

}  // namespace porthole::teardown
