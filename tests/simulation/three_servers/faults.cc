#include "simulation/three_servers/faults.h"

namespace porthole::simulation {

std::vector<Fault> all_faults() {
    std::vector<Fault> all;
    for (const auto& part : {server_faults(), network_faults(), etcd_faults(), client_faults()})
        all.insert(all.end(), part.begin(), part.end());
    return all;
}

}  // namespace porthole::simulation
