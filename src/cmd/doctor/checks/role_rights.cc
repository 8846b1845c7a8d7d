#include <algorithm>

#include "cmd/doctor/check.h"
#include "cmd/doctor/evidence.h"

namespace porthole::cmd::doctor {
namespace {

bool has(const std::vector<std::string>& words, std::string_view word) {
    return std::ranges::any_of(words, [&](const std::string& one) { return one == word || one == "*"; });
}
bool names(const std::vector<std::string>& words, std::string_view word) { return std::ranges::find(words, word) != words.end(); }

struct RightItem {
    Item item;
    const char* remedy;
    bool (*gives)(const rbac::PolicyRule&);
};

bool changes(const rbac::PolicyRule& rule) { return has(rule.verbs, "create") || has(rule.verbs, "update") || has(rule.verbs, "patch"); }

// Resources, and the verbs bind, escalate and impersonate, are compared as they are written: a wildcard for them is told once, as 5.1.3.
constexpr RightItem Rights[] = {
    {{"5.1.2", "access to secrets is restricted"},
     "leave secrets out of these roles, or name the ones with resourceNames",
     [](const rbac::PolicyRule& rule) {
         return names(rule.resources, "secrets") && rule.resource_names.empty() &&
                (has(rule.verbs, "get") || has(rule.verbs, "list") || has(rule.verbs, "watch"));
     }},
    {{"5.1.3", "roles do not use wildcards"},
     "list resources and verbs instead of *",
     [](const rbac::PolicyRule& rule) { return names(rule.resources, "*") || names(rule.verbs, "*") || names(rule.api_groups, "*"); }},
    {{"5.1.4", "creating pods is restricted"},
     "allow users to create Deployments in namespaces with a Pod Security level, not pods in every namespace",
     [](const rbac::PolicyRule& rule) { return names(rule.resources, "pods") && has(rule.verbs, "create"); }},
    {{"5.1.8", "bind, escalate and impersonate are restricted"},
     "remove these verbs; each of them allows privilege escalation",
     [](const rbac::PolicyRule& rule) {
         return names(rule.verbs, "bind") || names(rule.verbs, "escalate") || names(rule.verbs, "impersonate");
     }},
    {{"5.1.9", "creating persistent volumes is restricted"},
     "allow users to create claims; a volume can be any directory of a node",
     [](const rbac::PolicyRule& rule) { return names(rule.resources, "persistentvolumes") && has(rule.verbs, "create"); }},
    {{"5.1.10", "access to kubelets through the API is restricted"},
     "give nodes/metrics, nodes/stats or nodes/log instead of nodes/proxy",
     [](const rbac::PolicyRule& rule) { return names(rule.resources, "nodes/proxy"); }},
    {{"5.1.11", "approving certificate requests is restricted"},
     "leave certificatesigningrequests/approval to one person or controller",
     [](const rbac::PolicyRule& rule) { return names(rule.resources, "certificatesigningrequests/approval") && changes(rule); }},
    {{"5.1.12", "changing admission webhooks is restricted"},
     "remove these resources; a webhook can read and change every object",
     [](const rbac::PolicyRule& rule) {
         return (names(rule.resources, "validatingwebhookconfigurations") || names(rule.resources, "mutatingwebhookconfigurations")) &&
                changes(rule);
     }},
    {{"5.1.13", "creating service account tokens is restricted"},
     "leave serviceaccounts/token out, or name the accounts with resourceNames",
     [](const rbac::PolicyRule& rule) {
         return names(rule.resources, "serviceaccounts/token") && rule.resource_names.empty() && has(rule.verbs, "create");
     }},
};

template <class R>
void look_at_roles(const std::vector<R>& roles, const char* kind, const RightItem& right, std::vector<std::string>& found) {
    for (const R& role : roles) {
        if (is_bootstrap(role)) continue;
        if (std::ranges::any_of(role.rules, right.gives)) found.push_back(std::string(kind) + " " + name_of(role));
    }
}

}  // namespace

void check_role_rights(const Evidence& evidence, Findings& findings) {
    for (const RightItem& right : Rights) {
        std::vector<std::string> found;
        look_at_roles(evidence.cluster_roles, "ClusterRole", right, found);
        look_at_roles(evidence.roles, "Role", right, found);
        findings.none(right.item, Verdict::Warn, std::move(found), "roles other than Kubernetes' own allow this", right.remedy);
    }
}

}  // namespace porthole::cmd::doctor
