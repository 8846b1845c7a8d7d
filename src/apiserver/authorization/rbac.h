#pragma once
#include <functional>

#include "api/rbac_v1.h"
#include "apiserver/authorization/authorizer.h"
#include "apiserver/storage/mirror.h"

namespace porthole::apiserver {

/// The current roles and bindings, maintained by another class.
struct RbacObjects {
    const ObjectMap<api::rbac::v1::Role>& roles;
    const ObjectMap<api::rbac::v1::RoleBinding>& role_bindings;
    const ObjectMap<api::rbac::v1::ClusterRole>& cluster_roles;
    const ObjectMap<api::rbac::v1::ClusterRoleBinding>& cluster_role_bindings;
};

/// Role-based access control: a request is allowed if a rule of a role bound to the user allows it; nothing is denied.
class RbacAuthorizer final : public Authorizer {
public:
    explicit RbacAuthorizer(RbacObjects objects) : objects_(objects) {}

    Task<Decision> authorize(const AuthorizationAttributes& attributes) override;

    /// Calls `visit` with every rule that applies to `user` in `namespace_` ("" for cluster scope only) and the sentence that explains why,
    /// until it returns false.
    using RuleVisitor = std::function<bool(const api::rbac::v1::PolicyRule&, const std::function<std::string()>& why)>;
    void visit_rules(const User& user, std::string_view namespace_, const RuleVisitor& visit) const;
    /// The rules a reference leads to; empty when the role is missing.
    std::vector<api::rbac::v1::PolicyRule> rules_of(const api::rbac::v1::RoleRef& reference, std::string_view namespace_) const;

private:
    const std::vector<api::rbac::v1::PolicyRule>* find_rules(const api::rbac::v1::RoleRef& reference, std::string_view namespace_) const;
    RbacObjects objects_;
};

bool rule_allows(const api::rbac::v1::PolicyRule& rule, const AuthorizationAttributes& attributes);
/// `binding_namespace` completes a service account without one.
bool subject_is(const api::rbac::v1::Subject& subject, const User& user, std::string_view binding_namespace);
/// Whether `owned` allows everything that `wanted` allows: no user may grant rights that they do not have. False where `wanted` allows more
/// than 20,000 single things, of which a rule may have the product of its lists.
bool covers(const std::vector<api::rbac::v1::PolicyRule>& owned, const std::vector<api::rbac::v1::PolicyRule>& wanted);

}  // namespace porthole::apiserver
