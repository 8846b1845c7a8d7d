#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/authorization/access_conditions.h"
#include "base/result.h"
#include "runtime/event_loop.h"

namespace porthole::apiserver {

/// A server that authorizes requests by SubjectAccessReviews.
struct WebhookAuthorizerOptions {
    std::string name = "webhook";     ///< for metrics
    std::string kubeconfig;           ///< path
    std::string version = "v1beta1";  ///< of authorization.k8s.io
    Duration timeout = std::chrono::seconds(30);
    Duration authorized_ttl = std::chrono::minutes(5), unauthorized_ttl = std::chrono::seconds(30);  ///< 0: not remembered
    bool deny_on_failure = false;  ///< otherwise a server, or a match condition, that fails has no opinion
    AccessConditions match_conditions{};
};

/// One of the authorizers, which are asked in order.
struct AuthorizerOptions {
    enum class Type { AlwaysAllow, AlwaysDeny, Node, Rbac, Webhook };
    Type type = Type::Rbac;
    WebhookAuthorizerOptions webhook{};  ///< of Type::Webhook
};

/// Upstream's "AlwaysAllow", "AlwaysDeny", "Node", "RBAC" and "Webhook". Error: BadRequest, also for ABAC, which is not there.
Result<AuthorizerOptions::Type> parse_authorizer_type(std::string_view name);

/// An AuthorizationConfiguration of apiserver.config.k8s.io/v1 (or v1beta1). Error: BadRequest with all that is wrong, after `source`.
Result<std::vector<AuthorizerOptions>> parse_authorization_config(std::string_view text, std::string_view source);

/// --authorization-mode, with `webhook` for Webhook. Error: BadRequest with upstream's message.
Result<std::vector<AuthorizerOptions>> authorizers_of_modes(const std::vector<std::string>& modes, const WebhookAuthorizerOptions& webhook);

}  // namespace porthole::apiserver
