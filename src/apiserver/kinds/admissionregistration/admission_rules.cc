#include "apiserver/kinds/admissionregistration/admission_rules.h"

#include <algorithm>
#include <set>

#include "apiserver/strategy/object_meta.h"
#include "base/strings.h"

namespace porthole::apiserver {
namespace {

using namespace api::admissionregistration::v1;
using Strings = std::vector<std::string>;

constexpr std::size_t ConditionLimit = 64;

bool holds(const Strings& list, std::string_view value) { return std::ranges::find(list, value) != list.end(); }

/// "*" says it all and stands alone.
void check_star(const Strings& list, std::string_view star, std::string_view detail, const FieldPath& path, FieldErrors& errors) {
    if (list.size() > 1 && holds(list, star)) errors.invalid(path, list_of(list), detail);
}

void check_filled(const Strings& list, const FieldPath& path, FieldErrors& errors) {
    if (list.empty()) return errors.required(path);
    for (std::size_t i = 0; i < list.size(); ++i)
        if (list[i].empty()) errors.required(path.index(i));
}

void validate_resources(const Strings& resources, const FieldPath& path, FieldErrors& errors) {
    if (resources.empty()) return errors.required(path);
    std::set<std::string> whole, all_of;  // "pods/*" names all subresources of pods
    for (std::size_t i = 0; i < resources.size(); ++i) {
        if (resources[i].empty()) errors.required(path.index(i));
        const std::size_t slash = resources[i].find('/');
        if (slash == std::string::npos)
            whole.insert(resources[i]);
        else if (resources[i].substr(slash) == "/*")
            all_of.insert(resources[i].substr(0, slash));
    }
    if (resources.size() > 1 && holds(resources, "*/*"))
        errors.invalid(path, list_of(resources), "if '*/*' is present, must not specify other resources");
    for (std::size_t i = 0; i < resources.size(); ++i) {
        const std::size_t slash = resources[i].find('/');
        if (slash == std::string::npos) {
            if (resources[i] != "*" && whole.contains("*"))
                errors.invalid(path, list_of(resources), "if '*' is present, must not specify other resources without subresources");
        } else if (resources[i].substr(slash) != "/*" && all_of.contains(resources[i].substr(0, slash))) {
            errors.invalid(path.index(i), resources[i],
                           "if '" + resources[i].substr(0, slash) + "/*' is present, must not specify " + resources[i]);
        }
    }
}

}  // namespace

void validate_rule(const RuleWithOperations& rule, const FieldPath& path, FieldErrors& errors) {
    if (rule.operations.empty()) errors.required(path / "operations");
    check_star(rule.operations, "*", "if '*' is present, must not specify other operations", path / "operations", errors);
    for (std::size_t i = 0; i < rule.operations.size(); ++i)
        check_choice(rule.operations[i], {"*", "CONNECT", "CREATE", "DELETE", "UPDATE"}, (path / "operations").index(i), errors);
    if (rule.api_groups.empty()) errors.required(path / "apiGroups");
    check_star(rule.api_groups, "*", "if '*' is present, must not specify other API groups", path / "apiGroups", errors);
    check_filled(rule.api_versions, path / "apiVersions", errors);
    check_star(rule.api_versions, "*", "if '*' is present, must not specify other API versions", path / "apiVersions", errors);
    validate_resources(rule.resources, path / "resources", errors);
    check_choice(rule.scope, {"*", "Cluster", "Namespaced"}, path / "scope", errors);
}

void validate_named_rule(const NamedRuleWithOperations& rule, const FieldPath& path, FieldErrors& errors) {
    std::set<std::string> seen;
    for (std::size_t i = 0; i < rule.resource_names.size(); ++i) {
        const FieldPath at = (path / "resourceNames").index(i);
        invalid_all(errors, at, rule.resource_names[i], names::check_path_segment(rule.resource_names[i]));
        if (!seen.insert(rule.resource_names[i]).second) errors.duplicate(at, rule.resource_names[i]);
    }
    validate_rule(rule, path, errors);
}

void default_match_resources(MatchResources& resources) {
    if (!resources.match_policy) resources.match_policy = "Equivalent";
    if (!resources.namespace_selector) resources.namespace_selector.emplace();
    if (!resources.object_selector) resources.object_selector.emplace();
    for (auto* rules : {&resources.resource_rules, &resources.exclude_resource_rules})
        for (NamedRuleWithOperations& rule : *rules)
            if (!rule.scope) rule.scope = "*";
}

void validate_match_resources(const MatchResources& resources, const FieldPath& path, FieldErrors& errors) {
    check_required_choice(resources.match_policy.value_or(""), {"Equivalent", "Exact"}, path / "matchPolicy", errors);
    const auto validate_selector = [&](const auto& selector, const FieldPath& at) {
        if (!selector) return errors.required(at);
        validate_label_selector(*selector, at, errors);
    };
    validate_selector(resources.namespace_selector, path / "namespaceSelector");
    validate_selector(resources.object_selector, path / "objectSelector");
    for (std::size_t i = 0; i < resources.resource_rules.size(); ++i)
        validate_named_rule(resources.resource_rules[i], (path / "resourceRules").index(i), errors);
    for (std::size_t i = 0; i < resources.exclude_resource_rules.size(); ++i)
        validate_named_rule(resources.exclude_resource_rules[i], (path / "excludeResourceRules").index(i), errors);
}

void check_expression(const Expression& expression, const std::string& shown, const FieldPath& path, FieldErrors& errors) {
    if (!expression.compiles()) errors.invalid(path, shown, expression.problem());
}

void validate_match_conditions(const std::vector<MatchCondition>& conditions, AdmissionNames names, const FieldPath& path,
                               FieldErrors& errors) {
    if (conditions.size() > ConditionLimit) errors.too_many(path, conditions.size(), ConditionLimit);
    const AdmissionCompiler compiler;
    std::set<std::string> seen;
    for (std::size_t i = 0; i < conditions.size(); ++i) {
        const FieldPath at = path.index(i);
        const std::string expression(trim(conditions[i].expression));
        if (expression.empty())
            errors.required(at / "expression");
        else if (i < ConditionLimit)
            check_expression(compiler.compile(expression, names, {cel::types::boolean()}), expression, at / "expression", errors);
        if (!check_required(conditions[i].name, at / "name", errors)) continue;
        invalid_all(errors, at / "name", conditions[i].name, names::check_qualified_name(conditions[i].name));
        if (!seen.insert(conditions[i].name).second) errors.duplicate(at / "name", conditions[i].name);
    }
}

}  // namespace porthole::apiserver
