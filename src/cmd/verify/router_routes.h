#pragma once
#include <string>
#include <vector>

#include "api/core_v1.h"

namespace porthole::cmd::verify {

/// For networks whose router has the routes to pods instead of the nodes themselves (topology A): for each node's pod range the node's
/// address, in the order of names, in the syntax of iproute2 ("ip"), of PowerShell, as CSV or as JSON. The commands for iproute2 and
/// PowerShell may be run again. PowerShell's also add a route to `control_plane`, the API server's IPv4 address, if it is behind a gateway;
/// "" for none. Error: BadRequest for another format; NotFound with the node's name, if it has no range yet.
Result<std::string> router_routes(const std::vector<api::core::v1::Node>& nodes, const std::string& format,
                                  const std::string& control_plane);

}  // namespace porthole::cmd::verify
