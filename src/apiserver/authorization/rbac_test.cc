#include "apiserver/authorization/rbac.h"

#include <gtest/gtest.h>

#include "apiserver/authorization/bootstrap_policy.h"
#include "runtime/sim/sim_loop.h"

namespace porthole::apiserver {
namespace {

using namespace api::rbac::v1;

/// The roles of a fresh cluster, and room for more.
struct Cluster {
    ObjectMap<Role> roles;
    ObjectMap<RoleBinding> role_bindings;
    ObjectMap<ClusterRole> cluster_roles;
    ObjectMap<ClusterRoleBinding> cluster_role_bindings;
    RbacAuthorizer rbac{{roles, role_bindings, cluster_roles, cluster_role_bindings}};

    Cluster() {
        for (auto& role : bootstrap_policy().cluster_roles) cluster_roles[role.metadata.name] = std::make_shared<ClusterRole>(role);
        for (auto& binding : bootstrap_policy().cluster_role_bindings)
            cluster_role_bindings[binding.metadata.name] = std::make_shared<ClusterRoleBinding>(binding);
    }
    void bind(const std::string& namespace_, const std::string& cluster_role, Subject subject) {
        RoleBinding binding;
        binding.metadata.name = "test";
        binding.metadata.namespace_ = namespace_;
        binding.role_ref = {.api_group = "rbac.authorization.k8s.io", .kind = "ClusterRole", .name = cluster_role};
        binding.subjects = {std::move(subject)};
        role_bindings[namespace_ + "/test"] = std::make_shared<RoleBinding>(binding);
    }
    Decision decide(const User& user, const std::string& verb, const std::string& resource, const std::string& namespace_,
                    const std::string& subresource = "", const std::string& group = "") {
        sim::SimLoop loop;
        return sim::run(loop, decide_task(user, verb, resource, namespace_, subresource, group)).value();
    }
    Task<Decision> decide_task(User user, std::string verb, std::string resource, std::string namespace_, std::string subresource,
                               std::string group) {
        const AuthorizationAttributes attributes{.user = user,
                                                 .verb = verb,
                                                 .is_resource = true,
                                                 .group = group,
                                                 .version = "v1",
                                                 .resource = resource,
                                                 .subresource = subresource,
                                                 .namespace_ = namespace_};
        co_return co_await rbac.authorize(attributes);
    }
};

TEST(Rbac, MayDoEverythingAsMaster) {
    Cluster cluster;
    const Decision decision = cluster.decide({.name = "admin", .groups = {"system:masters"}}, "delete", "nodes", "");
    EXPECT_TRUE(decision.allowed());
    EXPECT_EQ(decision.reason,
              "RBAC: allowed by ClusterRoleBinding \"cluster-admin\" of ClusterRole \"cluster-admin\" to Group \"system:masters\"");
}

TEST(Rbac, AStrangerMayReviewOnlyHimself) {
    Cluster cluster;
    const User stranger{.name = "jane", .groups = {"system:authenticated"}};
    EXPECT_FALSE(cluster.decide(stranger, "get", "pods", "default").allowed());
    EXPECT_TRUE(cluster.decide(stranger, "create", "selfsubjectaccessreviews", "", "", "authorization.k8s.io").allowed());
}

TEST(Rbac, ARoleBindingGrantsAClusterRoleInItsNamespaceOnly) {
    Cluster cluster;
    cluster.bind("a", "system:aggregate-to-edit", {.kind = "ServiceAccount", .name = "robot", .namespace_ = "tools"});
    const User robot{.name = "system:serviceaccount:tools:robot"};
    EXPECT_TRUE(cluster.decide(robot, "create", "pods", "a").allowed());
    EXPECT_TRUE(cluster.decide(robot, "create", "pods", "a", "exec").allowed());
    EXPECT_FALSE(cluster.decide(robot, "create", "pods", "b").allowed());
    EXPECT_FALSE(cluster.decide(robot, "create", "roles", "a", "", "rbac.authorization.k8s.io").allowed());
}

TEST(Rbac, MatchesSubresourcesByStar) {
    const PolicyRule rule{.verbs = {"get"}, .api_groups = {"*"}, .resources = {"*/scale"}};
    AuthorizationAttributes attributes{
        .verb = "get", .is_resource = true, .group = "apps", .resource = "deployments", .subresource = "scale"};
    EXPECT_TRUE(rule_allows(rule, attributes));
    attributes.subresource = "status";
    EXPECT_FALSE(rule_allows(rule, attributes));
}

TEST(Rbac, NobodyCoversMoreThanHeHolds) {
    const std::vector<PolicyRule> owned{{.verbs = {"get", "list"}, .api_groups = {""}, .resources = {"pods", "services"}}};
    EXPECT_TRUE(covers(owned, {{.verbs = {"get"}, .api_groups = {""}, .resources = {"pods"}, .resource_names = {"x"}}}));
    EXPECT_FALSE(covers(owned, {{.verbs = {"get"}, .api_groups = {""}, .resources = {"pods/log"}}}));
    EXPECT_FALSE(covers(owned, {{.verbs = {"*"}, .api_groups = {""}, .resources = {"pods"}}}));
    EXPECT_FALSE(covers(owned, {{.verbs = {"get"}, .non_resource_urls = {"/metrics"}}}));
}

TEST(Rbac, ARuleThatAllowsAProductOfThousandsIsCoveredByNoOne) {
    std::vector<std::string> many(3000, "x");
    const PolicyRule all{.verbs = {"*"}, .api_groups = {"*"}, .resources = {"*"}};
    EXPECT_FALSE(covers({all}, {{.verbs = many, .api_groups = many, .resources = many, .resource_names = many}}));
    EXPECT_TRUE(covers({all}, {{.verbs = {"get"}, .api_groups = {""}, .resources = {"pods"}, .resource_names = many}}));
}

TEST(BootstrapPolicy, BindsEachControllerToItsServiceAccount) {
    Cluster cluster;
    EXPECT_TRUE(cluster.decide({.name = "system:serviceaccount:kube-system:replicaset-controller"}, "create", "pods", "x").allowed());
    EXPECT_FALSE(cluster.decide({.name = "system:serviceaccount:kube-system:replicaset-controller"}, "create", "nodes", "").allowed());
}

TEST(BootstrapPolicy, AddsOnlyRulesThatAreMissing) {
    std::vector<PolicyRule> rules{{.verbs = {"*"}, .api_groups = {""}, .resources = {"pods"}}};
    EXPECT_FALSE(add_missing_rules(rules, {{.verbs = {"get"}, .api_groups = {""}, .resources = {"pods"}}}));
    EXPECT_TRUE(add_missing_rules(rules, {{.verbs = {"get"}, .api_groups = {""}, .resources = {"nodes"}}}));
    EXPECT_EQ(rules.size(), 2u);
}

}  // namespace
}  // namespace porthole::apiserver
