#pragma once
#include <optional>
#include <string>

#include "client/client.h"

namespace porthole::node_join {

inline constexpr const char* BootstrapTokenNamespace = "kube-system";
/// Before the token's id: the name of its Secret.
inline const std::string BootstrapTokenPrefix = "bootstrap-token-";

/// Makes a token with which nodes may join, and which signs cluster-info for them. Yields "<id>.<secret>".
Task<std::string> create_bootstrap_token(client::Client& client, std::optional<SystemTime> expires, std::string description);

}  // namespace porthole::node_join
