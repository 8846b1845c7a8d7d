#include "apiserver/audit/audit_policy.h"

#include <gtest/gtest.h>

namespace porthole::apiserver {
namespace {

const std::string Head = "apiVersion: audit.k8s.io/v1\nkind: Policy\n";

AuditPolicy parsed(const std::string& rules) {
    std::vector<std::string> warnings;
    auto policy = AuditPolicy::parse(Head + rules, warnings);
    EXPECT_TRUE(policy) << policy.error().message;
    EXPECT_TRUE(warnings.empty());
    return *std::move(policy);
}

const User Jane{.name = "jane", .groups = {"dev", "system:authenticated"}};

AuditDecision decide(const AuditPolicy& policy, const char* method, const char* path, const User* user = &Jane, bool by_component = false) {
    return policy.decide(user, parse_request_info(method, path, ""), by_component);
}

TEST(AuditPolicyTest, TheFirstRuleThatMatchesDecides) {
    struct {
        const char *rule, *method, *path;
        bool matches;
    } const rows[] = {
        {"users: [jane]", "GET", "/api/v1/pods", true},
        {"users: [joe]", "GET", "/api/v1/pods", false},
        {"userGroups: [ops, dev]", "GET", "/api/v1/pods", true},
        {"userGroups: [ops]", "GET", "/api/v1/pods", false},
        {"verbs: [create, delete]", "DELETE", "/api/v1/namespaces/a", true},
        {"verbs: [create, delete]", "DELETE", "/api/v1/namespaces/a/pods", false},
        {"namespaces: [a]", "GET", "/api/v1/namespaces/a/pods", true},
        {"namespaces: [a]", "GET", "/api/v1/namespaces/b/pods", false},
        {"namespaces: ['']", "GET", "/api/v1/nodes", true},
        {"namespaces: ['']", "GET", "/healthz", false},
        {"resources: [{group: apps}]", "GET", "/apis/apps/v1/deployments", true},
        {"resources: [{group: apps}]", "GET", "/api/v1/pods", false},
        {"resources: [{group: '', resources: [pods]}]", "GET", "/api/v1/namespaces/a/pods/p", true},
        {"resources: [{group: '', resources: [pods]}]", "GET", "/api/v1/namespaces/a/pods/p/log", false},
        {"resources: [{group: '', resources: [pods/log]}]", "GET", "/api/v1/namespaces/a/pods/p/log", true},
        {"resources: [{group: '', resources: ['pods/*']}]", "GET", "/api/v1/namespaces/a/pods/p/log", true},
        {"resources: [{group: '', resources: ['pods/*']}]", "GET", "/api/v1/namespaces/a/pods/p", true},
        {"resources: [{group: '', resources: ['*/log']}]", "GET", "/api/v1/namespaces/a/pods/p/log", true},
        {"resources: [{group: '', resources: ['*/log']}]", "GET", "/api/v1/namespaces/a/pods/p/status", false},
        {"resources: [{group: '', resources: ['*/*']}]", "GET", "/api/v1/namespaces/a/pods/p/status", false},
        {"resources: [{group: '', resources: ['*']}]", "GET", "/api/v1/namespaces/a/pods/p/status", true},
        {"resources: [{group: '', resources: [pods], resourceNames: [p]}]", "GET", "/api/v1/namespaces/a/pods/p", true},
        {"resources: [{group: '', resources: [pods], resourceNames: [p]}]", "GET", "/api/v1/namespaces/a/pods/q", false},
        {"nonResourceURLs: ['/health*']", "GET", "/healthz", true},
        {"nonResourceURLs: ['/health']", "GET", "/healthz", false},
        {"nonResourceURLs: ['*']", "GET", "/api/v1/pods", false},
        {"nonResourceURLs: ['*']", "GET", "/metrics", true},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(std::string(row.rule) + " " + row.method + " " + row.path);
        const AuditPolicy policy = parsed("rules: [{level: Request, " + std::string(row.rule) + "}, {level: Metadata}]");
        EXPECT_EQ(decide(policy, row.method, row.path).level, row.matches ? AuditLevel::Request : AuditLevel::Metadata);
    }
}

TEST(AuditPolicyTest, NobodyIsNoUserAndInNoGroup) {
    const AuditPolicy policy = parsed("rules: [{level: Request, users: ['']}, {level: Request, userGroups: [dev]}, {level: Metadata}]");
    EXPECT_EQ(decide(policy, "GET", "/api/v1/pods", nullptr).level, AuditLevel::Metadata);
}

TEST(AuditPolicyTest, StagesAddUpAndManagedFieldsAreTheRulesFirst) {
    const AuditPolicy policy = parsed(
        "omitStages: [RequestReceived]\nomitManagedFields: true\n"
        "rules: [{level: Request, verbs: [get], omitStages: [ResponseStarted], omitManagedFields: false}, {level: None, verbs: [list]}, "
        "{level: Metadata, verbs: [create]}]");
    const AuditDecision get = decide(policy, "GET", "/api/v1/nodes/n"), create = decide(policy, "POST", "/api/v1/nodes");
    EXPECT_FALSE(get.wants(AuditStage::RequestReceived) || get.wants(AuditStage::ResponseStarted));
    EXPECT_TRUE(get.wants(AuditStage::ResponseComplete));
    EXPECT_FALSE(get.omit_managed_fields);
    EXPECT_TRUE(create.wants(AuditStage::ResponseStarted) && create.omit_managed_fields);
    EXPECT_FALSE(decide(policy, "GET", "/api/v1/nodes").wants(AuditStage::ResponseComplete));
    EXPECT_EQ(decide(policy, "DELETE", "/api/v1/nodes/n").level, AuditLevel::None) << "no rule matches";
    EXPECT_EQ(policy.refusals(), AuditLevel::None);
}

TEST(AuditPolicyTest, RefusesABadFileInUpstreamsWords) {
    struct {
        const char *text, *error;
    } const rows[] = {
        {"", "unknown group version field , Kind= in policy"},
        {"apiVersion: audit.k8s.io/v1beta1\nkind: Policy", "unknown group version field audit.k8s.io/v1beta1, Kind=Policy in policy"},
        {"apiVersion: audit.k8s.io/v1\nkind: Policy", "loaded illegal policy with 0 rules"},
        {"apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: 3", "failed decoding: rules: expected a list, got number"},
        {"apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{}]", "rules[0].level: Required value"},
        {"apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: All}]",
         R"(rules[0].level: Unsupported value: "All": supported values: "None", "Metadata", "Request", "RequestResponse")"},
        {"apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [Begin]\nrules: [{level: None, nonResourceURLs: [a, '/*/b']}]",
         R"([omitStages[0]: Invalid value: "Begin": allowed stages are RequestReceived,ResponseStarted,ResponseComplete,Panic, )"
         R"(rules[0].nonResourceURLs[0]: Invalid value: "a": non-resource URL rules must begin with a '/' character, )"
         R"(rules[0].nonResourceURLs[1]: Invalid value: "/*/b": non-resource URL wildcards '*' must be the final character of the rule])"},
        {"apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: None, nonResourceURLs: [/a], namespaces: [b]}]",
         R"(rules[0].nonResourceURLs: Invalid value: ["/a"]: rules cannot apply to both regular resources and non-resource URLs)"},
        {"apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: None, resources: [{group: '', resourceNames: [x]}]}]",
         R"(rules[0].resources.resourceNames: Invalid value: ["x"]: using resourceNames requires at least one resource)"},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.text);
        std::vector<std::string> warnings;
        const auto policy = AuditPolicy::parse(row.text, warnings);
        ASSERT_FALSE(policy);
        EXPECT_EQ(policy.error().message, row.error);
    }
}

TEST(AuditPolicyTest, UnknownFieldsAreWarnings) {
    std::vector<std::string> warnings;
    ASSERT_TRUE(AuditPolicy::parse(Head + "rules: [{level: None, user: [a]}]\nrule: []", warnings));
    EXPECT_EQ(warnings, (std::vector<std::string>{"unknown field \"rules[0].user\"", "unknown field \"rule\""}));
}

TEST(BuiltInAuditPolicy, RecordsWritesAndReadsOfSecrets) {
    const AuditPolicy policy = AuditPolicy::built_in();
    const User node{.name = "system:node:n", .groups = {"system:nodes", "system:authenticated"}};
    struct {
        const char *name, *method, *path;
        const User* user;
        bool by_component, recorded;
    } const rows[] = {
        {"write", "POST", "/api/v1/namespaces/a/pods", &Jane, false, true},
        {"delete", "DELETE", "/apis/apps/v1/namespaces/a/deployments", &Jane, false, true},
        {"read", "GET", "/api/v1/namespaces/a/pods", &Jane, false, false},
        {"read of a secret", "GET", "/api/v1/namespaces/a/secrets/s", &Jane, false, true},
        {"list of secrets", "GET", "/api/v1/secrets", &Jane, false, true},
        {"token", "POST", "/api/v1/namespaces/a/serviceaccounts/b/token", &node, false, true},
        {"exec by WebSocket", "GET", "/api/v1/namespaces/a/pods/p/exec", &Jane, false, true},
        {"proxy", "GET", "/api/v1/nodes/n/proxy/logs", &Jane, false, true},
        {"health", "GET", "/readyz", &Jane, false, false},
        {"lease", "PUT", "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n", &node, false, false},
        {"event", "POST", "/apis/events.k8s.io/v1/namespaces/a/events", &node, false, false},
        {"status by a node", "PATCH", "/api/v1/namespaces/a/pods/p/status", &node, false, true},
        {"secret of a node's pod", "GET", "/api/v1/namespaces/a/secrets/s", &node, false, false},
        {"review by a node", "POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", &node, false, false},
        {"review by a user", "POST", "/apis/authentication.k8s.io/v1/tokenreviews", &Jane, false, true},
        {"secrets followed by a component", "GET", "/api/v1/secrets", &Jane, true, false},
        {"write by a component", "POST", "/api/v1/namespaces/a/pods", &Jane, true, true},
        {"nobody", "GET", "/api/v1/pods", nullptr, false, false},
    };
    for (const auto& row : rows) {
        const AuditDecision decision = decide(policy, row.method, row.path, row.user, row.by_component);
        EXPECT_EQ(decision.level, row.recorded ? AuditLevel::Metadata : AuditLevel::None) << row.name;
        EXPECT_FALSE(decision.wants(AuditStage::RequestReceived)) << row.name;
    }
    EXPECT_EQ(policy.refusals(), AuditLevel::Metadata);
}

}  // namespace
}  // namespace porthole::apiserver
