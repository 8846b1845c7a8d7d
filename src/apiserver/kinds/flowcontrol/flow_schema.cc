#include <algorithm>

#include "api/flowcontrol_v1.h"
#include "apiserver/flow_control/default_configuration.h"
#include "apiserver/kinds/checks.h"
#include "apiserver/kinds/flowcontrol/conditions.h"
#include "apiserver/kinds/kinds.h"
#include "schema/convert.h"

namespace porthole::apiserver {
namespace {

namespace flow = api::flowcontrol::v1;

constexpr std::int32_t LastPrecedence = 10000;
constexpr std::string_view All = "*";
constexpr Choices Verbs = {"create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch"};

bool has_wildcard(const std::vector<std::string>& list) { return std::ranges::find(list, All) != list.end(); }

/// "*" stands alone.
void check_wildcard(const std::vector<std::string>& list, const char* others, const FieldPath& path, FieldErrors& errors) {
    if (list.size() > 1 && has_wildcard(list))
        errors.invalid(path, list_of(list), std::string("if '*' is present, must not specify other ") + others);
}

// --- Subjects ---

template <class Member>
void refuse_member(const Member& member, const char* name, const char* kind, const FieldPath& path, FieldErrors& errors) {
    if (member) errors.forbidden(path / name, std::string(name) + " is forbidden when subject kind is not '" + kind + "'");
}

void validate_service_account(const flow::Subject& subject, const FieldPath& path, FieldErrors& errors) {
    if (!subject.service_account) return errors.required(path, "serviceAccount is required when subject kind is 'ServiceAccount'");
    const flow::ServiceAccountSubject& account = *subject.service_account;
    if (check_required(account.name, path / "name", errors) && account.name != All) check_object_name(account.name, path / "name", errors);
    if (account.namespace_.empty()) return errors.required(path / "namespace", "must specify namespace for service account");
    check_format(account.namespace_, names::check_dns1123_label, path / "namespace", errors);
}

template <class Named>
void validate_named(const schema::Box<Named>& named, const char* member, const char* kind, const FieldPath& path, FieldErrors& errors) {
    if (!named) return errors.required(path, std::string(member) + " is required when subject kind is '" + kind + "'");
    check_required(named->name, path / "name", errors);
}

void validate_subject(const flow::Subject& subject, const FieldPath& path, FieldErrors& errors) {
    if (subject.kind == flow::SubjectKind::ServiceAccount) {
        validate_service_account(subject, path / "serviceAccount", errors);
        refuse_member(subject.user, "user", "User", path, errors);
        refuse_member(subject.group, "group", "Group", path, errors);
    } else if (subject.kind == flow::SubjectKind::User) {
        validate_named(subject.user, "user", "User", path / "user", errors);
        refuse_member(subject.service_account, "serviceAccount", "ServiceAccount", path, errors);
        refuse_member(subject.group, "group", "Group", path, errors);
    } else if (subject.kind == flow::SubjectKind::Group) {
        validate_named(subject.group, "group", "Group", path / "group", errors);
        refuse_member(subject.service_account, "serviceAccount", "ServiceAccount", path, errors);
        refuse_member(subject.user, "user", "User", path, errors);
    } else {
        errors.not_supported(path / "kind", subject.kind, {"Group", "ServiceAccount", "User"});
    }
}

// --- Rules ---

void validate_verbs(const std::vector<std::string>& verbs, const FieldPath& path, FieldErrors& errors) {
    if (verbs.empty()) return errors.required(path, "verbs must contain at least one value");
    if (has_wildcard(verbs)) return check_wildcard(verbs, "verbs", path, errors);
    const auto is_known = [](const std::string& verb) { return std::ranges::find(Verbs, verb) != Verbs.end(); };
    if (!std::ranges::all_of(verbs, is_known)) errors.not_supported(path, list_of(verbs), Verbs);
}

void validate_path(const std::string& text, const FieldPath& path, FieldErrors& errors) {
    if (text.empty()) return errors.invalid(path, text, "must not be empty");
    if (text == "/") return;
    if (!text.starts_with('/')) return errors.invalid(path, text, "must start with slash");
    if (text.contains(' ')) return errors.invalid(path, text, "must not contain white-space");
    if (text.contains("//")) return errors.invalid(path, text, "must not contain double slash");
    const auto wildcards = std::ranges::count(text, '*');
    if (wildcards > 1 || (wildcards == 1 && !text.ends_with("/*"))) errors.invalid(path, text, "wildcard can only do suffix matching");
}

void validate_rule(const flow::NonResourcePolicyRule& rule, const FieldPath& path, FieldErrors& errors) {
    validate_verbs(rule.verbs, path / "verbs", errors);
    const FieldPath urls = path / "nonResourceURLs";
    if (rule.non_resource_urls.empty()) return errors.required(urls, "nonResourceURLs must contain at least one value");
    if (has_wildcard(rule.non_resource_urls)) return check_wildcard(rule.non_resource_urls, "non-resource URLs", urls, errors);
    for (std::size_t i = 0; i < rule.non_resource_urls.size(); ++i) validate_path(rule.non_resource_urls[i], urls.index(i), errors);
}

void validate_namespaces(const flow::ResourcePolicyRule& rule, const FieldPath& path, FieldErrors& errors) {
    if (rule.namespaces.empty() && !rule.cluster_scope)
        return errors.required(path, "resource rules that are not cluster scoped must supply at least one namespace");
    if (has_wildcard(rule.namespaces)) return check_wildcard(rule.namespaces, "namespaces", path, errors);
    for (std::size_t i = 0; i < rule.namespaces.size(); ++i) {
        for (const std::string& problem : names::check_dns1123_label(rule.namespaces[i]))
            errors.invalid(path.index(i), rule.namespaces[i], "each member of this list must be '*' or a DNS-1123 label; " + problem);
    }
}

void validate_rule(const flow::ResourcePolicyRule& rule, const FieldPath& path, FieldErrors& errors) {
    validate_verbs(rule.verbs, path / "verbs", errors);
    if (rule.api_groups.empty()) errors.required(path / "apiGroups", "resource rules must supply at least one api group");
    check_wildcard(rule.api_groups, "api groups", path / "apiGroups", errors);
    if (rule.resources.empty()) errors.required(path / "resources", "resource rules must supply at least one resource");
    check_wildcard(rule.resources, "resources", path / "resources", errors);
    validate_namespaces(rule, path / "namespaces", errors);
}

void validate_rules(const flow::PolicyRulesWithSubjects& rules, const FieldPath& path, FieldErrors& errors) {
    const auto each = [&](const auto& list, const char* member, auto check) {
        for (std::size_t i = 0; i < list.size(); ++i) check(list[i], (path / member).index(i));
    };
    if (rules.subjects.empty()) errors.required(path / "subjects", "subjects must contain at least one value");
    each(rules.subjects, "subjects", [&](const flow::Subject& subject, const FieldPath& at) { validate_subject(subject, at, errors); });
    if (rules.resource_rules.empty() && rules.non_resource_rules.empty())
        errors.required(path, "at least one of resourceRules and nonResourceRules has to be non-empty");
    const auto check_rule = [&](const auto& rule, const FieldPath& at) { validate_rule(rule, at, errors); };
    each(rules.resource_rules, "resourceRules", check_rule);
    each(rules.non_resource_rules, "nonResourceRules", check_rule);
}

// --- The object ---

void validate_spec(const flow::FlowSchema& object, const FieldPath& path, FieldErrors& errors) {
    const flow::FlowSchemaSpec& spec = object.spec;
    const FieldPath precedence = path / "matchingPrecedence";
    if (spec.matching_precedence <= 0) errors.invalid(precedence, spec.matching_precedence, "must be a positive value");
    if (spec.matching_precedence > LastPrecedence)
        errors.invalid(precedence, spec.matching_precedence, "must not be greater than " + std::to_string(LastPrecedence));
    if (spec.matching_precedence == 1 && object.metadata.name != ExemptName)
        errors.invalid(precedence, spec.matching_precedence, "only the schema named 'exempt' may have matchingPrecedence 1");
    if (spec.distinguisher_method)
        check_choice(spec.distinguisher_method->type, {"ByNamespace", "ByUser"}, path / "distinguisherMethod" / "type", errors);
    const FieldPath level = path / "priorityLevelConfiguration" / "name";
    if (spec.priority_level_configuration.name.empty())
        errors.required(level, "must reference a priority level");
    else
        check_object_name(spec.priority_level_configuration.name, level, errors);
    for (std::size_t i = 0; i < spec.rules.size(); ++i) validate_rules(spec.rules[i], (path / "rules").index(i), errors);
}

void validate(const flow::FlowSchema& object, FieldErrors& errors) {
    const FieldPath path = "spec";
    validate_spec(object, path, errors);
    for (const flow::FlowSchema& fixed : default_flow_schemas()) {
        if (!is_mandatory_name(fixed.metadata.name) || fixed.metadata.name != object.metadata.name || fixed.spec == object.spec) continue;
        errors.invalid(path, schema::to_value(object.spec), "spec of '" + object.metadata.name + "' must equal the fixed value");
    }
    check_condition_types(object.status.conditions, errors);
}

void prepare_for_status_update(flow::FlowSchema& object, const flow::FlowSchema& old, const WriteContext&) {
    auto fields = std::move(object.metadata.managed_fields);
    object.metadata = old.metadata;
    object.metadata.managed_fields = std::move(fields);
}

void validate_status_update(const flow::FlowSchema& object, const flow::FlowSchema&, FieldErrors& errors) {
    check_condition_types(object.status.conditions, errors);
}

}  // namespace

Strategy flow_schema_strategy() {
    Strategy strategy = strategy_for<flow::FlowSchema>(
        {.prepare_for_status_update = prepare_for_status_update, .validate = validate, .validate_status_update = validate_status_update});
    strategy.generation = Generation::OnSpecChange;
    return strategy;
}

}  // namespace porthole::apiserver
