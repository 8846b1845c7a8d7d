#include "apiserver/admission/plugins.h"

namespace porthole::apiserver {
namespace {

using namespace api::rbac::v1;

/// Kinds are compared by the resource's name: roles and bindings exist in two scopes with the same content.
class RbacEscalation final : public AdmissionPlugin {
public:
    RbacEscalation(const RbacAuthorizer& rbac, Authorizer& authorizer) : rbac_(rbac), authorizer_(authorizer) {}
    std::string_view name() const override { return "RbacEscalation"; }

    Task<> validate(const AdmissionAttributes& attributes) override {
        if (!attributes.object || attributes.kind.group != "rbac.authorization.k8s.io") co_return {};
        if (attributes.user.in_group(GroupMasters)) co_return {};
        const ApiObject& object = *attributes.object;
        if (object.is<Role>()) co_return co_await check(attributes, "escalate", attributes.name, object.view<Role>().rules);
        if (object.is<ClusterRole>()) co_return co_await check(attributes, "escalate", attributes.name, object.view<ClusterRole>().rules);
        const RoleRef& reference =
            object.is<RoleBinding>() ? object.view<RoleBinding>().role_ref : object.view<ClusterRoleBinding>().role_ref;
        co_return co_await check(attributes, "bind", reference.name, rbac_.rules_of(reference, attributes.namespace_));
    }

private:
    /// Allowed to those who hold `rules` already, and to those who have the special verb on the role.
    Task<> check(const AdmissionAttributes& attributes, std::string verb, std::string role, std::vector<PolicyRule> rules) {
        std::vector<PolicyRule> owned;
        rbac_.visit_rules(attributes.user, attributes.namespace_, [&](const PolicyRule& rule, const auto&) {
            owned.push_back(rule);
            return true;
        });
        if (covers(owned, rules)) co_return {};
        const bool cluster = attributes.namespace_.empty();
        const AuthorizationAttributes question{.user = attributes.user,
                                               .verb = verb,
                                               .is_resource = true,
                                               .group = "rbac.authorization.k8s.io",
                                               .version = "v1",
                                               .resource = cluster ? "clusterroles" : "roles",
                                               .namespace_ = attributes.namespace_,
                                               .name = role};
        CO_TRY(const Decision decision, co_await authorizer_.authorize(question));
        if (decision.allowed()) co_return {};
        std::string groups;
        for (const std::string& group : attributes.user.groups) groups += (groups.empty() ? "\"" : " \"") + group + "\"";
        co_return admission_forbidden(attributes, "user \"" + attributes.user.name + "\" (groups=[" + groups +
                                                      "]) is attempting to grant RBAC permissions not currently held");
    }
    const RbacAuthorizer& rbac_;
    Authorizer& authorizer_;
};

}  // namespace

AdmissionPluginPtr rbac_escalation(const RbacAuthorizer& rbac, Authorizer& authorizer) {
    return std::make_unique<RbacEscalation>(rbac, authorizer);
}

}  // namespace porthole::apiserver
