#include "api/rbac_v1.h"

#include "apiserver/kinds/kinds.h"
#include "apiserver/strategy/object_meta.h"
#include "schema/convert.h"

namespace porthole::apiserver {
namespace {

using namespace api::rbac::v1;
constexpr const char* RbacGroup = "rbac.authorization.k8s.io";

void validate_rules(const std::vector<PolicyRule>& rules, bool namespaced, FieldErrors& errors) {
    for (std::size_t i = 0; i < rules.size(); ++i) {
        const PolicyRule& rule = rules[i];
        const FieldPath path = FieldPath("rules").index(i);
        if (rule.verbs.empty()) errors.required(path / "verbs", "verbs must contain at least one value");
        if (!rule.non_resource_urls.empty()) {
            const schema::Value urls = schema::to_value(rule)["nonResourceURLs"];
            if (namespaced) errors.invalid(path / "nonResourceURLs", urls, "namespaced rules cannot apply to non-resource URLs");
            if (!rule.api_groups.empty() || !rule.resources.empty() || !rule.resource_names.empty())
                errors.invalid(path / "nonResourceURLs", urls, "rules cannot apply to both regular resources and non-resource URLs");
            continue;
        }
        if (rule.api_groups.empty()) errors.required(path / "apiGroups", "resource rules must supply at least one api group");
        if (rule.resources.empty()) errors.required(path / "resources", "resource rules must supply at least one resource");
    }
}

void validate_subject(const Subject& subject, bool namespaced, const FieldPath& path, FieldErrors& errors) {
    if (subject.name.empty()) errors.required(path / "name");
    const auto require_group = [&](const char* group) {
        if (subject.api_group != group) errors.not_supported(path / "apiGroup", subject.api_group, {group});
    };
    if (subject.kind == "ServiceAccount") {
        if (!subject.name.empty()) invalid_all(errors, path / "name", subject.name, names::check_dns1123_subdomain(subject.name));
        if (!subject.api_group.empty()) errors.not_supported(path / "apiGroup", subject.api_group, {""});
        if (!namespaced && subject.namespace_.empty()) errors.required(path / "namespace");
    } else if (subject.kind == "User" || subject.kind == "Group") {
        require_group(RbacGroup);
    } else {
        errors.not_supported(path / "kind", subject.kind, {"ServiceAccount", "User", "Group"});
    }
}

template <class Binding>
void set_binding_defaults(Binding& object) {
    if (object.role_ref.api_group.empty()) object.role_ref.api_group = RbacGroup;
    for (Subject& subject : object.subjects)
        if (subject.api_group.empty() && subject.kind != "ServiceAccount") subject.api_group = RbacGroup;
}

template <class Binding>
void validate_binding(const Binding& object, FieldErrors& errors) {
    constexpr bool Namespaced = std::same_as<Binding, RoleBinding>;
    const FieldPath reference = "roleRef";
    if (object.role_ref.api_group != RbacGroup) errors.not_supported(reference / "apiGroup", object.role_ref.api_group, {RbacGroup});
    const std::string& kind = object.role_ref.kind;
    if (Namespaced && kind != "Role" && kind != "ClusterRole") errors.not_supported(reference / "kind", kind, {"Role", "ClusterRole"});
    if (!Namespaced && kind != "ClusterRole") errors.not_supported(reference / "kind", kind, {"ClusterRole"});
    if (object.role_ref.name.empty())
        errors.required(reference / "name");
    else
        invalid_all(errors, reference / "name", object.role_ref.name, names::check_path_segment(object.role_ref.name));
    for (std::size_t i = 0; i < object.subjects.size(); ++i)
        validate_subject(object.subjects[i], Namespaced, FieldPath("subjects").index(i), errors);
}

template <class Binding>
void validate_binding_update(const Binding& object, const Binding& old, FieldErrors& errors) {
    validate_binding(object, errors);
    if (!(object.role_ref == old.role_ref)) errors.invalid("roleRef", schema::to_value(object.role_ref), "cannot change roleRef");
}

void validate_role(const Role& object, FieldErrors& errors) { validate_rules(object.rules, true, errors); }

void validate_cluster_role(const ClusterRole& object, FieldErrors& errors) {
    validate_rules(object.rules, false, errors);
    if (!object.aggregation_rule) return;
    const FieldPath path = "aggregationRule.clusterRoleSelectors";
    const auto& selectors = object.aggregation_rule->cluster_role_selectors;
    if (selectors.empty()) errors.required(path, "at least one clusterRoleSelector required if aggregationRule is non-nil");
    for (std::size_t i = 0; i < selectors.size(); ++i) validate_label_selector(selectors[i], path.index(i), errors);
}

Strategy finished(Strategy strategy) {
    strategy.name_rule = names::NameRule::PathSegment;
    strategy.create_on_update = true;
    return strategy;
}

}  // namespace

Strategy role_strategy() { return finished(strategy_for<Role>({.validate = validate_role})); }
Strategy cluster_role_strategy() { return finished(strategy_for<ClusterRole>({.validate = validate_cluster_role})); }
Strategy role_binding_strategy() {
    return finished(strategy_for<RoleBinding>({.set_defaults = set_binding_defaults<RoleBinding>,
                                               .validate = validate_binding<RoleBinding>,
                                               .validate_update = validate_binding_update<RoleBinding>}));
}
Strategy cluster_role_binding_strategy() {
    return finished(strategy_for<ClusterRoleBinding>({.set_defaults = set_binding_defaults<ClusterRoleBinding>,
                                                      .validate = validate_binding<ClusterRoleBinding>,
                                                      .validate_update = validate_binding_update<ClusterRoleBinding>}));
}

}  // namespace porthole::apiserver
