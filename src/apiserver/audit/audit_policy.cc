#include "apiserver/audit/audit_policy.h"

#include <algorithm>
#include <array>
#include <optional>

#include "apiserver/validation/configuration_reader.h"
#include "apiserver/validation/field_errors.h"
#include "apiserver/validation/names.h"

namespace porthole::apiserver {
namespace {

constexpr std::string_view PolicyVersion = "audit.k8s.io/v1";
constexpr std::array<std::string_view, 4> Levels{"None", "Metadata", "Request", "RequestResponse"};
constexpr std::array<std::string_view, 4> Stages{"RequestReceived", "ResponseStarted", "ResponseComplete", "Panic"};

bool has(const std::vector<std::string>& texts, std::string_view text) { return std::ranges::find(texts, text) != texts.end(); }

template <class T>
std::optional<T> named(std::string_view name, const std::array<std::string_view, 4>& names) {
    const auto found = std::ranges::find(names, name);
    if (found == names.end()) return std::nullopt;
    return static_cast<T>(found - names.begin());
}

// Matching

bool matches_resource(const AuditPolicy::Resources& wanted, const RequestInfo& info) {
    if (wanted.group != info.group) return false;
    if (wanted.resources.empty()) return true;
    if (!wanted.names.empty() && !has(wanted.names, info.name)) return false;
    return std::ranges::any_of(wanted.resources, [&](std::string_view resource) {
        if (resource == "*") return true;
        if (info.subresource.empty())
            return resource == info.resource || (resource.ends_with("/*") && resource.substr(0, resource.size() - 2) == info.resource);
        const std::size_t slash = resource.find('/');
        if (slash == resource.npos) return false;
        const std::string_view of = resource.substr(0, slash), below = resource.substr(slash + 1);
        return (of == "*" || of == info.resource) && (below == "*" || below == info.subresource) && !(of == "*" && below == "*");
    });
}

bool matches_path(std::string_view wanted, std::string_view path) {
    if (wanted == "*" || wanted == path) return true;
    return wanted.ends_with('*') && path.starts_with(wanted.substr(0, wanted.size() - 1));
}

bool matches(const AuditPolicy::Rule& rule, const User* user, const RequestInfo& info, bool by_component) {
    if (rule.only_components && !by_component) return false;
    if (!rule.users.empty() && !(user && has(rule.users, user->name))) return false;
    if (!rule.groups.empty() &&
        !(user && std::ranges::any_of(user->groups, [&](const std::string& group) { return has(rule.groups, group); })))
        return false;
    if (!rule.verbs.empty() && !has(rule.verbs, info.verb)) return false;
    if (!rule.namespaces.empty() || !rule.resources.empty()) {
        if (!info.is_resource) return false;
        // What is in no namespace has the namespace "".
        if (!rule.namespaces.empty() && !has(rule.namespaces, info.namespace_)) return false;
        return rule.resources.empty() ||
               std::ranges::any_of(rule.resources, [&](const AuditPolicy::Resources& wanted) { return matches_resource(wanted, info); });
    }
    if (rule.non_resource_urls.empty()) return true;
    return !info.is_resource &&
           std::ranges::any_of(rule.non_resource_urls, [&](const std::string& wanted) { return matches_path(wanted, info.path); });
}

// Reading, with upstream's checks in upstream's order: pkg/apis/audit/validation

schema::Value list_of(const std::vector<std::string>& texts) {
    schema::Value list = schema::Value::array();
    for (const std::string& text : texts) list.as_array().emplace_back(text);
    return list;
}

AuditStages read_stages(ConfigurationObject& from, std::string_view name, FieldErrors& errors) {
    AuditStages stages;
    const std::vector<std::string> texts = from.texts(name);
    for (std::size_t i = 0; i < texts.size(); ++i) {
        const auto stage = named<AuditStage>(texts[i], Stages);
        if (stage)
            stages.add(*stage);
        else
            errors.invalid(from.path().child(name).index(i), texts[i],
                           "allowed stages are RequestReceived,ResponseStarted,ResponseComplete,Panic");
    }
    return stages;
}

AuditLevel read_level(ConfigurationObject& from, FieldErrors& errors) {
    const std::string text = from.text("level");
    const auto level = named<AuditLevel>(text, Levels);
    if (text.empty())
        errors.required(from.path().child("level"));
    else if (!level)
        errors.not_supported(from.path().child("level"), text, Levels);
    return level.value_or(AuditLevel::None);
}

void read_urls(ConfigurationObject& from, AuditPolicy::Rule& rule, FieldErrors& errors) {
    const FieldPath path = from.path().child("nonResourceURLs");
    rule.non_resource_urls = from.texts("nonResourceURLs");
    for (std::size_t i = 0; i < rule.non_resource_urls.size(); ++i) {
        const std::string& url = rule.non_resource_urls[i];
        if (url == "*") continue;
        if (!url.starts_with('/')) errors.invalid(path.index(i), url, "non-resource URL rules must begin with a '/' character");
        if (!url.empty() && url.find('*') < url.size() - 1)
            errors.invalid(path.index(i), url, "non-resource URL wildcards '*' must be the final character of the rule");
    }
}

void read_resources(ConfigurationObject& from, AuditPolicy::Rule& rule, ConfigurationFaults& faults, FieldErrors& errors) {
    const schema::Array& items = from.list("resources");
    const FieldPath path = from.path().child("resources");
    for (std::size_t i = 0; i < items.size(); ++i) {
        ConfigurationObject item(items[i], path.index(i), faults);
        AuditPolicy::Resources resources{
            .group = item.text("group"), .resources = item.texts("resources"), .names = item.texts("resourceNames")};
        // Upstream names the list here, without the index.
        if (!resources.group.empty())
            invalid_all(errors, path.child("group"), resources.group, names::check_dns1123_subdomain(resources.group));
        if (!resources.names.empty() && resources.resources.empty())
            errors.invalid(path.child("resourceNames"), list_of(resources.names), "using resourceNames requires at least one resource");
        rule.resources.push_back(std::move(resources));
    }
}

AuditPolicy::Rule read_rule(ConfigurationObject& from, ConfigurationFaults& faults, FieldErrors& errors) {
    AuditPolicy::Rule rule;
    rule.level = read_level(from, errors);
    read_urls(from, rule, errors);
    read_resources(from, rule, faults, errors);
    rule.omitted = read_stages(from, "omitStages", errors);
    rule.users = from.texts("users");
    rule.groups = from.texts("userGroups");
    rule.verbs = from.texts("verbs");
    rule.namespaces = from.texts("namespaces");
    if (!rule.non_resource_urls.empty() && (!rule.resources.empty() || !rule.namespaces.empty()))
        errors.invalid(from.path().child("nonResourceURLs"), list_of(rule.non_resource_urls),
                       "rules cannot apply to both regular resources and non-resource URLs");
    return rule;
}

}  // namespace

std::string_view to_string(AuditLevel level) { return Levels[static_cast<std::size_t>(level)]; }
std::string_view to_string(AuditStage stage) { return Stages[static_cast<std::size_t>(stage)]; }

AuditDecision AuditPolicy::decide(const User* user, const RequestInfo& info, bool by_component) const {
    for (const Rule& rule : rules_)
        if (matches(rule, user, info, by_component))
            return {.level = rule.level, .omitted = rule.omitted, .omit_managed_fields = rule.omit_managed_fields};
    return otherwise_;
}

Result<AuditPolicy> AuditPolicy::parse(std::string_view text, std::vector<std::string>& warnings) {
    ConfigurationFaults faults;
    auto tree = read_configuration(text, faults);
    if (!tree) return Error(Reason::BadRequest, "failed decoding: " + tree.error().message);
    AuditPolicy policy;
    FieldErrors errors;
    {
        ConfigurationObject root(*tree, {}, faults);
        const std::string version = root.text("apiVersion"), kind = root.text("kind");
        if (version != PolicyVersion || kind != "Policy")
            return Error(Reason::BadRequest, "unknown group version field " + version + ", Kind=" + kind + " in policy");
        (void)root.object("metadata");
        policy.otherwise_.omitted = read_stages(root, "omitStages", errors);
        policy.otherwise_.omit_managed_fields = root.flag("omitManagedFields");
        const schema::Array& rules = root.list("rules");
        for (std::size_t i = 0; i < rules.size(); ++i) {
            ConfigurationObject from(rules[i], root.path().child("rules").index(i), faults);
            Rule rule = read_rule(from, faults, errors);
            rule.omitted = rule.omitted | policy.otherwise_.omitted;
            // A rule that says it wins; else the policy does.
            const bool own = from.has("omitManagedFields");
            rule.omit_managed_fields = from.flag("omitManagedFields");
            if (!own) rule.omit_managed_fields = policy.otherwise_.omit_managed_fields;
            policy.rules_.push_back(std::move(rule));
        }
    }
    if (!faults.wrong_types.empty()) return Error(Reason::BadRequest, "failed decoding: " + faults.wrong_types.front());
    if (!errors.empty()) return Error(Reason::BadRequest, errors.text());
    if (policy.rules_.empty()) return Error(Reason::BadRequest, "loaded illegal policy with 0 rules");
    warnings = std::move(faults.unknown);
    return policy;
}

}  // namespace porthole::apiserver
