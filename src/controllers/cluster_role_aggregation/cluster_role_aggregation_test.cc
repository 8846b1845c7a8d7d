#include "controllers/cluster_role_aggregation/cluster_role_aggregation.h"

#include "controllers/framework/sim/sim_world.h"

namespace porthole::controllers {
namespace {

using api::rbac::v1::ClusterRole;

struct AggregationTest : SimWorld {
    static constexpr const char* Label = "example.com/to-union";

    ClusterRole role(const std::string& name, const std::string& resource, bool labeled) {
        ClusterRole made;
        made.metadata.name = name;
        if (labeled) made.metadata.labels[Label] = "true";
        if (!resource.empty()) {
            auto& rule = made.rules.emplace_back();
            rule.verbs = {"get"};
            rule.api_groups = {""};
            rule.resources = {resource};
        }
        return made;
    }
    ClusterRole union_role(const std::string& name, bool labeled = false) {
        ClusterRole made = role(name, "", labeled);
        made.aggregation_rule.emplace().cluster_role_selectors.emplace_back().match_labels = {{Label, "true"}};
        return made;
    }
    std::string resources(const std::string& name) {
        std::string all;
        for (const auto& rule : api.find<ClusterRole>({"", name})->rules) all += (all.empty() ? "" : " ") + rule.resources[0];
        return all;
    }
};

TEST_F(AggregationTest, UnitesTheRulesOfMatchingRolesInOrderOfName) {
    api.put(role("b", "pods", true));
    api.put(role("a", "secrets", true));
    api.put(role("c", "nodes", false));
    api.put(union_role("union"));
    run<ClusterRoleAggregationController>();
    EXPECT_EQ(resources("union"), "secrets pods");
}

TEST_F(AggregationTest, FollowsRolesAsTheyComeChangeAndGo) {
    api.put(union_role("union"));
    run<ClusterRoleAggregationController>();
    EXPECT_EQ(resources("union"), "");
    api.put(role("a", "pods", true));
    pass(1s);
    EXPECT_EQ(resources("union"), "pods");
    api.change<ClusterRole>({"", "a"}, [](ClusterRole& role) { role.rules[0].resources = {"services"}; });
    pass(1s);
    EXPECT_EQ(resources("union"), "services");
    api.remove<ClusterRole>({"", "a"});
    pass(1s);
    EXPECT_EQ(resources("union"), "");
}

TEST_F(AggregationTest, TakesSameRulesOnceAndUnionsOfUnions) {
    api.put(role("a", "pods", true));
    api.put(role("b", "pods", true));
    ClusterRole outer = role("outer", "", false);
    outer.aggregation_rule.emplace().cluster_role_selectors.emplace_back().match_labels = {{"outer", "true"}};
    api.put(outer);
    ClusterRole inner = union_role("inner", true);
    inner.metadata.labels["outer"] = "true";
    api.put(inner);
    run<ClusterRoleAggregationController>();
    EXPECT_EQ(resources("inner"), "pods") << "never its own";
    EXPECT_EQ(resources("outer"), "pods");
}

TEST_F(AggregationTest, WritesNothingWhereNothingIsNew) {
    api.put(role("a", "pods", true));
    api.put(union_role("union"));
    run<ClusterRoleAggregationController>();
    api.clear_requests();
    api.change<ClusterRole>({"", "a"}, [](ClusterRole& role) { role.metadata.annotations["x"] = "y"; });
    pass(10s);
    for (const auto& request : api.requests()) EXPECT_EQ(request.method, "GET");
}

}  // namespace
}  // namespace porthole::controllers
