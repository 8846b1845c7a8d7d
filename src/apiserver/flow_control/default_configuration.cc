#include "apiserver/flow_control/default_configuration.h"

namespace porthole::apiserver {
namespace {

using namespace api::flowcontrol::v1;
using Names = std::vector<std::string>;

constexpr const char* ByUser = FlowDistinguisherMethodType::ByUser;
constexpr const char* ByNamespace = FlowDistinguisherMethodType::ByNamespace;
const Names Everything = {"*"};

PriorityLevelConfiguration level(const char* name) {
    PriorityLevelConfiguration object;
    object.metadata.name = name;
    object.metadata.annotations[AutoUpdateSpecAnnotation] = "true";
    return object;
}

PriorityLevelConfiguration exempt_level() {
    PriorityLevelConfiguration object = level("exempt");
    object.spec.type = PriorityLevelEnablement::Exempt;
    object.spec.exempt.emplace() = {.nominal_concurrency_shares = 0, .lendable_percent = 0};
    return object;
}

LimitedPriorityLevelConfiguration& limit(PriorityLevelConfiguration& object, std::int32_t shares, std::int32_t lendable_percent) {
    object.spec.type = PriorityLevelEnablement::Limited;
    LimitedPriorityLevelConfiguration& limited = object.spec.limited.emplace();
    limited.nominal_concurrency_shares = shares;
    limited.lendable_percent = lendable_percent;
    return limited;
}

PriorityLevelConfiguration rejecting_level(const char* name, std::int32_t shares) {
    PriorityLevelConfiguration object = level(name);
    limit(object, shares, 0).limit_response.type = LimitResponseType::Reject;
    return object;
}

PriorityLevelConfiguration queuing_level(const char* name, std::int32_t shares, std::int32_t lendable_percent, std::int32_t queues,
                                         std::int32_t hand_size) {
    PriorityLevelConfiguration object = level(name);
    LimitResponse& response = limit(object, shares, lendable_percent).limit_response;
    response.type = LimitResponseType::Queue;
    response.queuing.emplace() = {.queues = queues, .hand_size = hand_size, .queue_length_limit = 50};
    return object;
}

std::vector<Subject> groups(const Names& names) {
    std::vector<Subject> subjects;
    for (const std::string& name : names) {
        Subject& subject = subjects.emplace_back();
        subject.kind = SubjectKind::Group;
        subject.group.emplace().name = name;
    }
    return subjects;
}

std::vector<Subject> users(const Names& names) {
    std::vector<Subject> subjects;
    for (const std::string& name : names) {
        Subject& subject = subjects.emplace_back();
        subject.kind = SubjectKind::User;
        subject.user.emplace().name = name;
    }
    return subjects;
}

std::vector<Subject> with_accounts_of_kube_system(std::vector<Subject> subjects, const Names& names) {
    for (const std::string& name : names) {
        Subject& subject = subjects.emplace_back();
        subject.kind = SubjectKind::ServiceAccount;
        subject.service_account.emplace() = {.namespace_ = "kube-system", .name = name};
    }
    return subjects;
}

ResourcePolicyRule resources(Names verbs, std::string group, Names names, bool cluster_scope = false) {
    return {.verbs = std::move(verbs),
            .api_groups = {std::move(group)},
            .resources = std::move(names),
            .cluster_scope = cluster_scope,
            .namespaces = Everything};
}

const Names LeaderElectionVerbs = {"get", "create", "update"};

FlowSchema schema(const char* name, const char* level, std::int32_t precedence, const char* distinguisher, PolicyRulesWithSubjects rules) {
    FlowSchema object;
    object.metadata.name = name;
    object.metadata.annotations[AutoUpdateSpecAnnotation] = "true";
    object.spec.priority_level_configuration.name = level;
    object.spec.matching_precedence = precedence;
    if (distinguisher) object.spec.distinguisher_method.emplace().type = distinguisher;
    object.spec.rules.push_back(std::move(rules));
    return object;
}

/// Of all requests of some subjects.
FlowSchema whole_schema(const char* name, const char* level, std::int32_t precedence, const char* distinguisher,
                        std::vector<Subject> subjects) {
    PolicyRulesWithSubjects rules{.subjects = std::move(subjects)};
    rules.resource_rules.push_back(resources(Everything, "*", Everything, true));
    rules.non_resource_rules.push_back({.verbs = Everything, .non_resource_urls = Everything});
    return schema(name, level, precedence, distinguisher, std::move(rules));
}

/// Of some resources.
FlowSchema resource_schema(const char* name, const char* level, std::int32_t precedence, std::vector<Subject> subjects,
                           std::vector<ResourcePolicyRule> rules) {
    return schema(name, level, precedence, ByUser, {.subjects = std::move(subjects), .resource_rules = std::move(rules)});
}

FlowSchema probes_schema(std::vector<Subject> subjects) {
    PolicyRulesWithSubjects rules{.subjects = std::move(subjects)};
    rules.non_resource_rules.push_back({.verbs = {"get"}, .non_resource_urls = {"/healthz", "/readyz", "/livez"}});
    return schema("probes", "exempt", 2, nullptr, std::move(rules));
}

}  // namespace

std::vector<PriorityLevelConfiguration> default_priority_levels() {
    return {
        exempt_level(),
        rejecting_level("catch-all", 5),
        // name, shares, what may be lent in percent, queues, hand size
        queuing_level("system", 30, 33, 64, 6),
        queuing_level("node-high", 40, 25, 64, 6),
        queuing_level("leader-election", 10, 0, 16, 4),
        queuing_level("workload-high", 40, 50, 128, 6),
        queuing_level("workload-low", 100, 90, 128, 6),
        queuing_level("global-default", 20, 50, 128, 6),
    };
}

std::vector<FlowSchema> default_flow_schemas() {
    const auto everyone = groups({"system:unauthenticated", "system:authenticated"});
    const auto managers = users({"system:kube-controller-manager", "system:kube-scheduler"});
    const auto nodes = groups({"system:nodes"});
    return {
        whole_schema("exempt", "exempt", 1, nullptr, groups({"system:masters"})),
        whole_schema("catch-all", "catch-all", 10000, ByUser, everyone),
        probes_schema(everyone),
        resource_schema("system-leader-election", "leader-election", 100, with_accounts_of_kube_system(managers, Everything),
                        {resources(LeaderElectionVerbs, "coordination.k8s.io", {"leases"})}),
        resource_schema("endpoint-controller", "workload-high", 150,
                        with_accounts_of_kube_system(users({"system:kube-controller-manager"}),
                                                     {"endpoint-controller", "endpointslicemirroring-controller"}),
                        {resources(LeaderElectionVerbs, "", {"endpoints"})}),
        resource_schema("workload-leader-election", "leader-election", 200, with_accounts_of_kube_system({}, Everything),
                        {resources(LeaderElectionVerbs, "", {"endpoints", "configmaps"}),
                         resources(LeaderElectionVerbs, "coordination.k8s.io", {"leases"})}),
        resource_schema(
            "system-node-high", "node-high", 400, nodes,
            {resources(Everything, "", {"nodes", "nodes/status"}, true), resources(Everything, "coordination.k8s.io", {"leases"})}),
        whole_schema("system-nodes", "system", 500, ByUser, nodes),
        whole_schema("kube-controller-manager", "workload-high", 800, ByNamespace, users({"system:kube-controller-manager"})),
        whole_schema("kube-scheduler", "workload-high", 800, ByNamespace, users({"system:kube-scheduler"})),
        whole_schema("kube-system-service-accounts", "workload-high", 900, ByNamespace, with_accounts_of_kube_system({}, Everything)),
        whole_schema("service-accounts", "workload-low", 9000, ByUser, groups({"system:serviceaccounts"})),
        whole_schema("global-default", "global-default", 9900, ByUser, everyone),
    };
}

}  // namespace porthole::apiserver
