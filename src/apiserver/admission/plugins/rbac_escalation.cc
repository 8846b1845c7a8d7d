#include "apiserver/admission/plugins.h"
#include "apiserver/request/status.h"

namespace porthole::apiserver {
namespace {

using namespace api::rbac::v1;

/// What a ClusterRole with an aggregation rule may come to hold: everything.
std::vector<PolicyRule> full_authority() {
    return {{.verbs = {"*"}, .api_groups = {"*"}, .resources = {"*"}}, {.verbs = {"*"}, .non_resource_urls = {"*"}}};
}

bool aggregates(const ApiObject* role) {
    if (!role || !role->is<ClusterRole>()) return false;
    const auto& rule = role->view<ClusterRole>().aggregation_rule;
    return rule && !rule->cluster_role_selectors.empty();
}

/// Finalizers and owner references grant nothing: the garbage collector may change them on any role.
bool changes_only_what_collection_needs(const ApiObject& object, const ApiObject& old) {
    schema::Value now = object.tree(), before = old.tree();
    for (schema::Value* tree : {&now, &before}) {
        schema::Value* metadata = tree->find("metadata");
        if (!metadata) return false;
        for (const char* field : {"finalizers", "ownerReferences", "managedFields", "resourceVersion"}) metadata->erase(field);
    }
    return now == before;
}

/// Kinds are compared by the resource's name: roles and bindings exist in two scopes with the same content.
class RbacEscalation final : public AdmissionPlugin {
public:
    RbacEscalation(const ObjectReader& reader, const RbacAuthorizer& rbac, Authorizer& authorizer)
        : reader_(reader), rbac_(rbac), authorizer_(authorizer) {}
    std::string_view name() const override { return "RbacEscalation"; }
    bool handles(const AdmissionAttributes& attributes) const override { return attributes.kind.group == "rbac.authorization.k8s.io"; }

    Task<> validate(const AdmissionAttributes& attributes) override {
        if (!attributes.object) co_return {};
        if (attributes.user.in_group(GroupMasters)) co_return {};
        const ApiObject& object = *attributes.object;
        if (attributes.old_object && changes_only_what_collection_needs(object, *attributes.old_object)) co_return {};
        if (object.is<Role>() || object.is<ClusterRole>()) co_return co_await check_role(attributes, object);
        co_return co_await check_binding(
            attributes, object.is<RoleBinding>() ? object.view<RoleBinding>().role_ref : object.view<ClusterRoleBinding>().role_ref);
    }

private:
    Task<> check_role(const AdmissionAttributes& attributes, const ApiObject& object) {
        const char* resource = object.is<Role>() ? "roles" : "clusterroles";
        CO_TRY(const bool escalates, co_await may(attributes, "escalate", resource, attributes.name));
        if (escalates) co_return {};
        const auto& rules = object.is<Role>() ? object.view<Role>().rules : object.view<ClusterRole>().rules;
        if (!holds(attributes, rules)) co_return not_held(attributes);
        // What an aggregation rule gathers is decided later and by labels; taking one away keeps rules from being tightened.
        if ((aggregates(&object) || aggregates(attributes.old_object)) && !holds(attributes, full_authority()))
            co_return admission_forbidden(attributes, "must have cluster-admin privileges to use the aggregationRule");
        co_return {};
    }

    Task<> check_binding(const AdmissionAttributes& attributes, const RoleRef& reference) {
        const bool cluster = reference.kind == "ClusterRole";
        // Asked in the binding's namespace, so that binding one ClusterRole may be delegated for one namespace.
        CO_TRY(const bool binds, co_await may(attributes, "bind", cluster ? "clusterroles" : "roles", reference.name));
        if (binds) co_return {};
        // From the store and not from the authorizer's mirror: a role made just now counts, and one that is missing is refused, or
        // a binding made in advance would grant whatever a role of that name says later.
        if (cluster) {
            CO_TRY(const auto role, reader_.find<ClusterRole>("", reference.name));
            if (!role) co_return not_found(ClusterRole::kind(), reference.name);
            co_return holds(attributes, role->rules) ? Result<void>() : not_held(attributes);
        }
        CO_TRY(const auto role, reader_.find<Role>(attributes.namespace_, reference.name));
        if (!role) co_return not_found(Role::kind(), reference.name);
        co_return holds(attributes, role->rules) ? Result<void>() : not_held(attributes);
    }

    /// Whether the user may do all that `rules` allow already.
    bool holds(const AdmissionAttributes& attributes, const std::vector<PolicyRule>& rules) const {
        std::vector<PolicyRule> owned;
        rbac_.visit_rules(attributes.user, attributes.namespace_, [&](const PolicyRule& rule, const auto&) {
            owned.push_back(rule);
            return true;
        });
        return covers(owned, rules);
    }

    Task<bool> may(const AdmissionAttributes& attributes, std::string verb, std::string resource, std::string role) {
        const AuthorizationAttributes question{.user = attributes.user,
                                               .verb = std::move(verb),
                                               .is_resource = true,
                                               .group = "rbac.authorization.k8s.io",
                                               .version = "v1",
                                               .resource = std::move(resource),
                                               .namespace_ = attributes.namespace_,
                                               .name = std::move(role)};
        CO_TRY(const Decision decision, co_await authorizer_.authorize(question));
        co_return decision.allowed();
    }

    static Error not_held(const AdmissionAttributes& attributes) {
        std::string groups;
        for (const std::string& group : attributes.user.groups) groups += (groups.empty() ? "\"" : " \"") + group + "\"";
        return admission_forbidden(attributes, "user \"" + attributes.user.name + "\" (groups=[" + groups +
                                                   "]) is attempting to grant RBAC permissions not currently held");
    }

    const ObjectReader& reader_;
    const RbacAuthorizer& rbac_;
    Authorizer& authorizer_;
};

}  // namespace

AdmissionPluginPtr make_rbac_escalation(const AdmissionDependencies& given) {
    return std::make_unique<RbacEscalation>(given.reader, given.rbac, given.authorizer);
}

}  // namespace porthole::apiserver
