#include "apiserver/flow_control/flow_schemas.h"

#include <algorithm>
#include <tuple>

#include "base/hash.h"

namespace porthole::apiserver {
namespace {

using namespace api::flowcontrol::v1;

constexpr std::string_view All = "*";
constexpr std::string_view ServiceAccountPrefix = "system:serviceaccount:";

bool contains(const std::vector<std::string>& list, std::string_view text) {
    return std::ranges::any_of(list, [&](const std::string& one) { return one == All || one == text; });
}

bool is_service_account(std::string_view user, const ServiceAccountSubject& subject) {
    if (!user.starts_with(ServiceAccountPrefix)) return false;
    user.remove_prefix(ServiceAccountPrefix.size());
    if (!user.starts_with(subject.namespace_)) return false;
    user.remove_prefix(subject.namespace_.size());
    if (!user.starts_with(':')) return false;
    return subject.name == All || user.substr(1) == subject.name;
}

bool matches_subject(const User& user, const Subject& subject) {
    if (subject.kind == SubjectKind::User) return subject.user && (subject.user->name == All || subject.user->name == user.name);
    if (subject.kind == SubjectKind::Group) return subject.group && (subject.group->name == All || user.in_group(subject.group->name));
    return subject.service_account && is_service_account(user.name, *subject.service_account);
}

/// "pods" or "pods/status", without joining the two.
bool contains_resource(const std::vector<std::string>& list, const RequestInfo& info) {
    return std::ranges::any_of(list, [&](std::string_view one) {
        if (one == All) return true;
        if (!one.starts_with(info.resource)) return false;
        one.remove_prefix(info.resource.size());
        if (info.subresource.empty()) return one.empty();
        return one.starts_with('/') && one.substr(1) == info.subresource;
    });
}

bool matches(const ResourcePolicyRule& rule, const RequestInfo& info) {
    if (!contains(rule.verbs, info.verb) || !contains_resource(rule.resources, info) || !contains(rule.api_groups, info.group))
        return false;
    return info.namespace_.empty() ? rule.cluster_scope : contains(rule.namespaces, info.namespace_);
}

/// A path, everything below a path, or all.
bool covers(std::string_view pattern, std::string_view path) {
    if (pattern == All || pattern == path) return true;
    if (pattern.ends_with('*')) pattern.remove_suffix(1);
    if (pattern.ends_with('/')) return path.starts_with(pattern);
    return path.starts_with(pattern) && path.substr(pattern.size()).starts_with('/');
}

bool matches(const NonResourcePolicyRule& rule, const RequestInfo& info) {
    return contains(rule.verbs, info.verb) &&
           std::ranges::any_of(rule.non_resource_urls, [&](const std::string& pattern) { return covers(pattern, info.path); });
}

bool matches(const PolicyRulesWithSubjects& rules, const RequestInfo& info) {
    const auto is_matched = [&](const auto& rule) { return matches(rule, info); };
    return info.is_resource ? std::ranges::any_of(rules.resource_rules, is_matched)
                            : std::ranges::any_of(rules.non_resource_rules, is_matched);
}

}  // namespace

FlowSchemas::FlowSchemas(std::vector<FlowSchema> schemas) : schemas_(std::move(schemas)) {
    std::ranges::sort(schemas_, {}, [](const FlowSchema& schema) {
        return std::tuple(schema.spec.matching_precedence, std::string_view(schema.metadata.name));
    });
}

const FlowSchemas::KnownUser& FlowSchemas::look_up(const User& user) {
    KnownUser& slot = users_[fnv1a_64(user.name) % users_.size()];
    if (slot.known && slot.name == user.name && slot.groups == user.groups) return slot;
    slot = {.name = user.name, .groups = user.groups, .candidates = {}, .known = true};
    for (std::size_t i = 0; i < schemas_.size(); ++i) {
        for (const Rules& rules : schemas_[i].spec.rules) {
            if (std::ranges::any_of(rules.subjects, [&](const Subject& subject) { return matches_subject(user, subject); }))
                slot.candidates.push_back({i, &rules});
        }
    }
    return slot;
}

std::size_t FlowSchemas::find(const User& user, const RequestInfo& info) {
    for (const Candidate& candidate : look_up(user).candidates)
        if (matches(*candidate.rules, info)) return candidate.schema;
    return schemas_.size() - 1;
}

std::string_view flow_distinguisher(const FlowSchema& schema, const User& user, const RequestInfo& info) {
    if (!schema.spec.distinguisher_method) return "";
    return schema.spec.distinguisher_method->type == FlowDistinguisherMethodType::ByUser ? std::string_view(user.name)
                                                                                         : std::string_view(info.namespace_);
}

}  // namespace porthole::apiserver
