#include "apiserver/flow_control/flow_schemas.h"

#include <gtest/gtest.h>

#include "apiserver/flow_control/default_configuration.h"

namespace porthole::apiserver {
namespace {

using namespace api::flowcontrol::v1;

User node(const std::string& name) { return {.name = "system:node:" + name, .groups = {"system:nodes", std::string(GroupAuthenticated)}}; }
User person() { return {.name = "jane", .groups = {std::string(GroupAuthenticated)}}; }

TEST(FlowSchemasTest, TheDefaultsPutEveryoneWhereKubernetesDoes) {
    FlowSchemas schemas(default_flow_schemas());
    struct {
        const char *method, *path, *query;
        User user;
        const char* schema;
    } const rows[] = {
        {"GET", "/api/v1/pods", "", loopback_user(), "exempt"},
        {"GET", "/livez", "", {.name = "system:anonymous", .groups = {std::string(GroupUnauthenticated)}}, "probes"},
        {"GET", "/livez/ping", "", person(), "probes"},
        {"POST", "/livez", "", person(), "global-default"},
        {"GET", "/livezz", "", person(), "global-default"},
        {"GET", "/api/v1/pods", "", person(), "global-default"},
        {"PUT", "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/a", "", component_user("kube-scheduler"),
         "system-leader-election"},
        {"PUT", "/apis/coordination.k8s.io/v1/namespaces/x/leases/a", "", service_account_user("kube-system", "b"),
         "system-leader-election"},
        {"PUT", "/apis/coordination.k8s.io/v1/namespaces/x/leases/a", "", service_account_user("kube-systemx", "b"), "service-accounts"},
        {"PUT", "/api/v1/namespaces/x/endpoints/a", "", service_account_user("kube-system", "endpoint-controller"), "endpoint-controller"},
        {"PUT", "/api/v1/namespaces/x/endpoints/a", "", service_account_user("kube-system", "other"), "workload-leader-election"},
        {"PATCH", "/api/v1/nodes/n/status", "", node("n"), "system-node-high"},
        {"PATCH", "/api/v1/nodes/n/proxy", "", node("n"), "system-nodes"},
        {"PUT", "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n", "", node("n"), "system-node-high"},
        {"GET", "/api/v1/pods", "fieldSelector=spec.nodeName%3Dn", node("n"), "system-nodes"},
        {"GET", "/api/v1/pods", "", component_user("kube-controller-manager"), "kube-controller-manager"},
        {"GET", "/api/v1/pods", "", component_user("kube-scheduler"), "kube-scheduler"},
        {"GET", "/api/v1/pods", "", service_account_user("kube-system", "b"), "kube-system-service-accounts"},
        {"GET", "/version", "", service_account_user("default", "b"), "service-accounts"},
        {"GET", "/version", "", {.name = "nobody", .groups = {}}, "catch-all"},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(std::string(row.method) + ' ' + row.path + " as " + row.user.name);
        for (int again = 0; again < 2; ++again) {
            const auto place = schemas.find(row.user, parse_request_info(row.method, row.path, row.query));
            EXPECT_EQ(schemas.ordered()[place].metadata.name, row.schema);
        }
    }
}

TEST(FlowSchemasTest, WhatIsKnownOfAUserDoesNotOutliveAChangeOfGroups) {
    FlowSchemas schemas(default_flow_schemas());
    const RequestInfo info = parse_request_info("GET", "/api/v1/pods", "");
    User user = person();
    EXPECT_EQ(schemas.ordered()[schemas.find(user, info)].metadata.name, "global-default");
    user.groups.emplace_back(GroupMasters);
    EXPECT_EQ(schemas.ordered()[schemas.find(user, info)].metadata.name, "exempt");
}

TEST(FlowSchemasTest, RulesOfNamespacesAndOfTheClusterAreTwoThings) {
    FlowSchema schema = default_flow_schemas().back();
    schema.metadata.name = "mine";
    schema.spec.matching_precedence = 10;
    ResourcePolicyRule& rule = schema.spec.rules[0].resource_rules[0];
    rule.cluster_scope = false;
    rule.namespaces = {"a"};
    auto all = default_flow_schemas();
    all.push_back(schema);
    FlowSchemas schemas(all);
    const auto name = [&](const char* path) {
        return schemas.ordered()[schemas.find(person(), parse_request_info("GET", path, ""))].metadata.name;
    };
    EXPECT_EQ(name("/api/v1/namespaces/a/pods"), "mine");
    EXPECT_EQ(name("/api/v1/namespaces/b/pods"), "global-default");
    EXPECT_EQ(name("/api/v1/pods"), "global-default");
    EXPECT_EQ(name("/api/v1/nodes"), "global-default");
}

}  // namespace
}  // namespace porthole::apiserver
