#include "apiserver/authorization/bootstrap_policy.h"

#include <algorithm>
#include <sstream>
#include <string_view>

#include "apiserver/authorization/rbac.h"
#include "base/result.h"
#include "base/strings.h"

namespace porthole::apiserver {
namespace {

using namespace api::rbac::v1;
using Words = std::vector<std::string>;

#pragma clang diagnostic ignored "-Wc23-extensions"
constexpr char Text[] = {
#embed "bootstrap_policy.txt"
};

constexpr const char* ApiGroup = "rbac.authorization.k8s.io";

Words verbs_of(std::string_view list) {
    Words verbs;
    for (const std::string& verb : split_nonempty(list, ',')) {
        const bool all = verb == "ALL";
        if (verb == "READ" || all) verbs.insert(verbs.end(), {"get", "list", "watch"});
        if (verb == "WRITE" || all) verbs.insert(verbs.end(), {"create", "delete", "deletecollection", "patch", "update"});
        if (verb != "READ" && verb != "WRITE" && !all) verbs.push_back(verb);
    }
    return verbs;
}

Words groups_of(std::string_view list) {
    Words groups = split_nonempty(list, ',');
    std::ranges::replace(groups, std::string("core"), std::string());
    return groups;
}

/// A rule's line, without its indentation.
PolicyRule rule_of(const Words& words) {
    PolicyRule rule;
    if (words[0] == "EVENTS") {
        rule.api_groups = {"", "events.k8s.io"};
        rule.resources = {"events"};
        rule.verbs = {"create", "patch", "update"};
        return rule;
    }
    CHECK(words.size() >= 3 && words.back().starts_with('[') && words.back().ends_with(']'));
    rule.verbs = verbs_of(std::string_view(words.back()).substr(1, words.back().size() - 2));
    if (words[0] == "paths") {
        rule.non_resource_urls = split_nonempty(words[1], ',');
        return rule;
    }
    rule.api_groups = groups_of(words[0]);
    rule.resources = split_nonempty(words[1], ',');
    if (words[2].starts_with("names=")) rule.resource_names = split_nonempty(words[2].substr(6), ',');
    return rule;
}

Subject subject_of(const std::string& text) {
    const std::string name = text.substr(2);
    if (text[0] == 'G') return {.kind = "Group", .api_group = ApiGroup, .name = name};
    if (text[0] == 'U') return {.kind = "User", .api_group = ApiGroup, .name = name};
    CHECK(text[0] == 'S');
    const std::size_t slash = name.find('/');
    return {.kind = "ServiceAccount", .name = name.substr(slash + 1), .namespace_ = name.substr(0, slash)};
}

api::meta::v1::ObjectMeta metadata(std::string name, std::string namespace_ = "") {
    api::meta::v1::ObjectMeta meta;
    meta.name = std::move(name);
    meta.namespace_ = std::move(namespace_);
    meta.labels = {{"kubernetes.io/bootstrapping", "rbac-defaults"}};
    meta.annotations = {{"rbac.authorization.kubernetes.io/autoupdate", "true"}};
    return meta;
}

/// Reads the text line by line into a policy; rules go to the role named last.
class Reader {
public:
    void line(std::string_view line) {
        const Words words = split_nonempty(line, ' ');
        if (words.empty() || words[0].starts_with('#')) return;
        if (line.starts_with(' ')) return rules_->push_back(rule_of(words));
        if (words[0] == "clusterrole") return cluster_role(words);
        if (words[0] == "role") return role(words);
        if (words[0] == "clusterrolebinding") return cluster_role_binding(words[1], words[2], {words.begin() + 3, words.end()});
        CHECK(words[0] == "rolebinding");
        role_binding(words);
    }
    BootstrapPolicy policy;

private:
    void cluster_role(const Words& words) {
        ClusterRole role;
        role.metadata = metadata(words[1]);
        bool bound = false;
        for (const std::string& word : Words(words.begin() + 2, words.end())) {
            const std::string label = std::string(ApiGroup) + "/" + word.substr(word.find('=') + 1);
            if (word.starts_with("label=")) role.metadata.labels[label] = "true";
            if (word.starts_with("aggregates=")) {
                role.aggregation_rule.emplace().cluster_role_selectors.emplace_back().match_labels[label] = "true";
            }
            bound = bound || word == "bound";
        }
        policy.cluster_roles.push_back(std::move(role));
        rules_ = &policy.cluster_roles.back().rules;
        if (bound) cluster_role_binding(words[1], words[1], {"S:kube-system/" + words[1].substr(words[1].rfind(':') + 1)});
    }
    void role(const Words& words) {
        policy.roles.emplace_back().metadata = metadata(words[2], words[1]);
        rules_ = &policy.roles.back().rules;
    }
    void cluster_role_binding(const std::string& name, const std::string& role, const Words& subjects) {
        ClusterRoleBinding binding;
        binding.metadata = metadata(name);
        binding.role_ref = {.api_group = ApiGroup, .kind = "ClusterRole", .name = role};
        for (const std::string& subject : subjects) binding.subjects.push_back(subject_of(subject));
        policy.cluster_role_bindings.push_back(std::move(binding));
    }
    void role_binding(const Words& words) {
        RoleBinding binding;
        binding.metadata = metadata(words[2], words[1]);
        binding.role_ref = {.api_group = ApiGroup, .kind = "Role", .name = words[3]};
        for (std::size_t i = 4; i < words.size(); ++i) binding.subjects.push_back(subject_of(words[i]));
        policy.role_bindings.push_back(std::move(binding));
    }
    std::vector<PolicyRule>* rules_ = nullptr;
};

}  // namespace

BootstrapPolicy bootstrap_policy() {
    Reader reader;
    std::istringstream text(std::string(Text, sizeof Text));
    for (std::string line; std::getline(text, line);) reader.line(line);
    return std::move(reader.policy);
}

bool add_missing_rules(std::vector<PolicyRule>& rules, const std::vector<PolicyRule>& wanted) {
    bool added = false;
    for (const PolicyRule& rule : wanted) {
        if (covers(rules, {rule})) continue;
        rules.push_back(rule);
        added = true;
    }
    return added;
}

}  // namespace porthole::apiserver
