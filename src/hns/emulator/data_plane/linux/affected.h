#pragma once
#include <set>
#include <string>

#include "hns/emulator/data_plane/linux/contributions.h"

namespace porthole::hns::emulator {

/// Ids of the objects whose kernel state an operation may have changed: changed objects, and those that depend on them. A load balancer
/// depends on its endpoints' addresses, an endpoint on its network's switch and sets, a node port on the existence of any local endpoint.
struct Affected {
    std::set<std::string> networks, endpoints, namespaces, load_balancers, routes;
};

Affected affected_by(const Changes& changes, const View& before, const View& after);

}  // namespace porthole::hns::emulator
