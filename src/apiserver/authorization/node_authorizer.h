#pragma once
#include <optional>

#include "apiserver/authorization/node_graph.h"
#include "apiserver/authorization/rbac.h"

namespace porthole::apiserver {

/// The node that `user` speaks for: "system:node:<name>" in the group system:nodes. nullopt for everyone else.
std::optional<std::string> node_of(const User& user);

/// What a kubelet may do: the rules of the role system:node, narrowed to itself, its pods and what they refer to.
class NodeAuthorizer final : public Authorizer {
public:
    NodeAuthorizer(const NodeGraph& graph, const RbacAuthorizer& rbac) : graph_(graph), rbac_(rbac) {}
    Task<Decision> authorize(const AuthorizationAttributes& attributes) override;

private:
    Decision decide(const std::string& node, const AuthorizationAttributes& attributes) const;
    Decision read_reached(const std::string& node, const AuthorizationAttributes& attributes) const;
    Decision use_pods(const std::string& node, const AuthorizationAttributes& attributes) const;
    Decision by_role(const AuthorizationAttributes& attributes) const;

    const NodeGraph& graph_;
    const RbacAuthorizer& rbac_;
};

}  // namespace porthole::apiserver
