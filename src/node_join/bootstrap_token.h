#pragma once
#include <functional>
#include <optional>
#include <string>

#include "base/log.h"
#include "client/client.h"

namespace porthole::node_join {

inline constexpr const char* BootstrapTokenNamespace = "kube-system";
/// The name of a token's Secret is this and the token's id.
inline const std::string BootstrapTokenPrefix = "bootstrap-token-";

/// Creates a token with which nodes may join, and which signs cluster-info for them. Returns "<id>.<secret>". Errors: the API's.
Task<std::string> create_bootstrap_token(client::Client& client, std::optional<SystemTime> expires, std::string description);

/// Deletes it, or its id alone. Error: NotFound.
Task<> remove_bootstrap_token(client::Client& client, std::string token);

/// Calls `join` with a token for the node. Until it is used, a token lets anyone who knows it become any node: it is removed after the
/// join, whether that has succeeded or not, and if it cannot be removed, it expires five minutes after its creation. `client` outlives the
/// task. Errors: the API's; the join's.
Task<> join_by_token(EventLoop& loop, client::Client& client, std::string node, Logger log, std::function<Task<>(std::string token)> join);

}  // namespace porthole::node_join
