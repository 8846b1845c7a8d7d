#pragma once
#include <optional>
#include <string>

#include "client/client.h"

namespace porthole::node_join {

inline constexpr const char* BootstrapTokenNamespace = "kube-system";
/// The name of a token's Secret is this and the token's id.
inline const std::string BootstrapTokenPrefix = "bootstrap-token-";

/// Creates a token with which nodes may join, and which signs cluster-info for them. Returns "<id>.<secret>". Errors: the API's.
Task<std::string> create_bootstrap_token(client::Client& client, std::optional<SystemTime> expires, std::string description);

/// Deletes it, or its id alone. Error: NotFound.
Task<> remove_bootstrap_token(client::Client& client, std::string token);

}  // namespace porthole::node_join
