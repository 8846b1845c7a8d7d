#pragma once
#include <optional>

#include "apiserver/authorization/node_graph.h"
#include "apiserver/authorization/rbac.h"
#include "apiserver/storage/object_reader.h"

namespace porthole::apiserver {

/// The node that `user` speaks for: "system:node:<name>" in the group system:nodes. nullopt for everyone else.
std::optional<std::string> node_of(const User& user);

/// What a kubelet may do: the rules of the role system:node, restricted to its own node, its pods and the objects that they refer to. No
/// opinion about other users. References must outlive it.
class NodeAuthorizer final : public Authorizer {
public:
    NodeAuthorizer(const NodeGraph& graph, const RbacAuthorizer& rbac, const ObjectReader& reader)
        : graph_(graph), rbac_(rbac), reader_(reader) {}
    Task<Decision> authorize(const AuthorizationAttributes& attributes) override;

private:
    Decision decide(const std::string& node, const AuthorizationAttributes& attributes) const;
    Decision read_reached(const std::string& node, const AuthorizationAttributes& attributes) const;
    Decision use_claim(const std::string& node, const AuthorizationAttributes& attributes) const;
    /// A single object by name, where it is the node's `own`.
    Decision get_if(bool own, const std::string& node, const AuthorizationAttributes& attributes) const;
    Decision use_volume(const std::string& node, const AuthorizationAttributes& attributes) const;
    bool has_data(const std::string& node, const std::string& volume) const;
    bool holds_volume(const std::string& node, const std::string& name) const;
    bool holds_attachment(const std::string& node, const std::string& name) const;
    Decision use_pod_certificates(const std::string& node, const AuthorizationAttributes& attributes) const;
    Decision use_pods(const std::string& node, const AuthorizationAttributes& attributes) const;
    Decision by_role(const AuthorizationAttributes& attributes) const;

    const NodeGraph& graph_;
    const RbacAuthorizer& rbac_;
    const ObjectReader& reader_;
};

}  // namespace porthole::apiserver
