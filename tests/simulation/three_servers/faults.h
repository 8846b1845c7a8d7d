#pragma once
#include <string>
#include <vector>

#include "simulation/three_servers/world.h"

namespace porthole::simulation {

/// A kind of fault. It holds from strike() until what that yields is called; World::heal() ends whatever is left of it. In between
/// something must meet it: see World::met().
struct Fault {
    const char* name;
    World::Undo (*strike)(World& world);
};

/// All kinds, by where they strike. A new one is one entry of a list in faults_*.cc.
std::vector<Fault> all_faults();
std::vector<Fault> server_faults();   ///< of processes and clocks of servers
std::vector<Fault> network_faults();  ///< between servers and etcd
std::vector<Fault> etcd_faults();     ///< of etcd itself and of others who use it
std::vector<Fault> client_faults();   ///< of nodes and clients

}  // namespace porthole::simulation
