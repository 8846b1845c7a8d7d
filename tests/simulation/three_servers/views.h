#pragma once
#include <string>

#include "simulation/three_servers/world.h"

namespace porthole::simulation {

/// What the servers show at one revision: "" when each shows the same bytes and exactly the keys and versions that etcd has.
/// Requires: all servers run.
Task<std::string> find_difference_of_views(World& world);

/// "" when one server leads each component, and it is the one that the Lease names.
Task<std::string> find_wrong_leader(World& world);

}  // namespace porthole::simulation
