#pragma once
#include <cstdint>
#include <set>
#include <string>

#include "client/client.h"

namespace porthole::apiserver {

/// Has the service "kubernetes" lead to API servers at `addresses`, by its Endpoints and its EndpointSlice. Writes only what is different.
/// Requires: not empty. Errors: Conflict when another server does the same; those of the API.
Task<> publish_kubernetes_endpoints(client::Client& client, std::set<std::string> addresses, std::uint16_t port);

}  // namespace porthole::apiserver
