#include "apiserver/authorization/rbac.h"

#include <algorithm>
#include <functional>
#include <unordered_set>

namespace porthole::apiserver {
namespace {

using namespace api::rbac::v1;
using Strings = std::vector<std::string>;

bool holds(const Strings& list, std::string_view value) { return std::ranges::find(list, value) != list.end(); }
bool holds_or_all(const Strings& list, std::string_view value) { return holds(list, value) || holds(list, "*"); }

/// "pods/log" is matched by itself, by "*" and by "*/log".
bool resource_matches(const Strings& resources, const std::string& resource, const std::string& subresource) {
    if (subresource.empty()) return holds_or_all(resources, resource);
    return holds_or_all(resources, resource + "/" + subresource) || holds(resources, "*/" + subresource);
}

/// A path's pattern is the path, "*", or a prefix with "*" at its end.
bool path_matches(const Strings& patterns, std::string_view path) {
    return std::ranges::any_of(patterns, [&](const std::string& pattern) {
        if (pattern == "*" || pattern == path) return true;
        return pattern.ends_with('*') && path.starts_with(std::string_view(pattern).substr(0, pattern.size() - 1));
    });
}

/// Whether `user` is "system:serviceaccount:NAMESPACE:NAME". Asked of every binding for every request: allocates nothing.
bool is_service_account(std::string_view user, std::string_view namespace_, std::string_view name) {
    constexpr std::string_view Prefix = "system:serviceaccount:";
    if (!user.starts_with(Prefix)) return false;
    user.remove_prefix(Prefix.size());
    return user.size() == namespace_.size() + 1 + name.size() && user.starts_with(namespace_) && user[namespace_.size()] == ':' &&
           user.ends_with(name);
}

std::string describe(const Subject& subject) {
    return subject.kind + " \"" + (subject.kind == "ServiceAccount" ? subject.name + "/" + subject.namespace_ : subject.name) + "\"";
}

/// A rule that allows one thing only.
struct Atom {
    std::string verb, group, resource, name, path;
};

bool allows(const PolicyRule& rule, const Atom& atom) {
    if (!holds_or_all(rule.verbs, atom.verb)) return false;
    if (!atom.path.empty()) return path_matches(rule.non_resource_urls, atom.path);
    if (!holds_or_all(rule.api_groups, atom.group)) return false;
    const std::size_t slash = atom.resource.find('/');
    const std::string subresource = slash == atom.resource.npos ? "" : atom.resource.substr(slash + 1);
    if (!resource_matches(rule.resources, atom.resource.substr(0, slash), subresource)) return false;
    return rule.resource_names.empty() || (!atom.name.empty() && holds(rule.resource_names, atom.name));
}

constexpr std::size_t MostAtoms = 20'000;

/// Whether `holds_for` is true of each single thing that the rule allows; there may be the product of its lists of them, so false beyond
/// `left`, which is reduced by those that were asked about.
bool holds_for_all(const PolicyRule& rule, std::size_t& left, const std::function<bool(const Atom&)>& holds_for) {
    const auto check = [&](const Atom& atom) { return left > 0 && left-- > 0 && holds_for(atom); };
    const Strings names = rule.resource_names.empty() ? Strings{""} : rule.resource_names;
    for (const std::string& verb : rule.verbs) {
        for (const std::string& path : rule.non_resource_urls)
            if (!check({.verb = verb, .path = path})) return false;
        for (const std::string& group : rule.api_groups)
            for (const std::string& resource : rule.resources)
                for (const std::string& name : names)
                    if (!check({verb, group, resource, name, ""})) return false;
    }
    return true;
}

}  // namespace

bool rule_allows(const PolicyRule& rule, const AuthorizationAttributes& attributes) {
    if (!holds_or_all(rule.verbs, attributes.verb)) return false;
    if (!attributes.is_resource) return path_matches(rule.non_resource_urls, attributes.path);
    return holds_or_all(rule.api_groups, attributes.group) &&
           resource_matches(rule.resources, attributes.resource, attributes.subresource) &&
           (rule.resource_names.empty() || holds(rule.resource_names, attributes.name));
}

bool subject_is(const Subject& subject, const User& user, std::string_view binding_namespace) {
    if (subject.kind == "User") return user.name == subject.name;
    if (subject.kind == "Group") return user.in_group(subject.name);
    if (subject.kind != "ServiceAccount") return false;
    const std::string_view namespace_ = subject.namespace_.empty() ? binding_namespace : subject.namespace_;
    return !namespace_.empty() && is_service_account(user.name, namespace_, subject.name);
}

bool covers(const std::vector<PolicyRule>& owned, const std::vector<PolicyRule>& wanted) {
    std::size_t left = MostAtoms;
    const auto is_owned = [&](const Atom& atom) {
        return std::ranges::any_of(owned, [&](const PolicyRule& one) { return allows(one, atom); });
    };
    return std::ranges::all_of(wanted, [&](const PolicyRule& rule) { return holds_for_all(rule, left, is_owned); });
}

const std::vector<PolicyRule>* RbacAuthorizer::find_rules(const RoleRef& reference, std::string_view namespace_) const {
    if (reference.kind == "ClusterRole") {
        const auto found = objects_.cluster_roles.find(reference.name);
        return found == objects_.cluster_roles.end() ? nullptr : &found->second->rules;
    }
    const auto found = objects_.roles.find(std::string(namespace_) + "/" + reference.name);
    return found == objects_.roles.end() ? nullptr : &found->second->rules;
}

std::vector<PolicyRule> RbacAuthorizer::rules_of(const RoleRef& reference, std::string_view namespace_) const {
    const auto* rules = find_rules(reference, namespace_);
    return rules ? *rules : std::vector<PolicyRule>();
}

void RbacAuthorizer::visit_rules(const User& user, std::string_view namespace_, const RuleVisitor& visit) const {
    std::unordered_set<const std::vector<PolicyRule>*> seen;  // thousands of bindings may name one large role
    const auto visit_binding = [&](const auto& binding, const char* kind, std::string_view binding_namespace) {
        const auto subject =
            std::ranges::find_if(binding.subjects, [&](const Subject& one) { return subject_is(one, user, binding_namespace); });
        if (subject == binding.subjects.end()) return true;
        const auto* rules = find_rules(binding.role_ref, binding_namespace);
        if (!rules || !seen.insert(rules).second) return true;
        const std::function<std::string()> why = [&] {
            const std::string name =
                binding_namespace.empty() ? binding.metadata.name : binding.metadata.name + "/" + std::string(binding_namespace);
            return "RBAC: allowed by " + std::string(kind) + " \"" + name + "\" of " + binding.role_ref.kind + " \"" +
                   binding.role_ref.name + "\" to " + describe(*subject);
        };
        return std::ranges::all_of(*rules, [&](const PolicyRule& rule) { return visit(rule, why); });
    };
    for (const auto& [key, binding] : objects_.cluster_role_bindings) {
        if (!visit_binding(*binding, "ClusterRoleBinding", "")) return;
    }
    if (namespace_.empty()) return;
    const std::string prefix = std::string(namespace_) + "/";
    for (auto next = objects_.role_bindings.lower_bound(prefix); next != objects_.role_bindings.end() && next->first.starts_with(prefix);
         ++next) {
        if (!visit_binding(*next->second, "RoleBinding", namespace_)) return;
    }
}

Task<Decision> RbacAuthorizer::authorize(const AuthorizationAttributes& attributes) {
    Decision decision = Decision::no_opinion();
    visit_rules(attributes.user, attributes.namespace_, [&](const PolicyRule& rule, const std::function<std::string()>& why) {
        if (!rule_allows(rule, attributes)) return true;
        decision = Decision::allow(why());
        return false;
    });
    co_return decision;
}

}  // namespace porthole::apiserver
