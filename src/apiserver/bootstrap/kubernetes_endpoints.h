#pragma once
#include <cstdint>
#include <set>
#include <string>

#include "client/client.h"

namespace porthole::apiserver {

/// Sets the Endpoints and the EndpointSlice of the service "kubernetes" to API servers at `addresses`. Writes only differences. Requires:
/// not empty. Errors: Conflict if another server does the same; those of the API.
Task<> publish_kubernetes_endpoints(client::Client& client, std::set<std::string> addresses, std::uint16_t port);

}  // namespace porthole::apiserver
