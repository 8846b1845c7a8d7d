#include "scheduler/plugins/spread_eligibility.h"

#include <gtest/gtest.h>

#include "scheduler/random_changes_fixture.h"

namespace porthole::scheduler {
namespace {

using namespace testing;

using Constraints = std::vector<const SpreadConstraint*>;

Constraints constraints_of(const PodInfo& pod) {
    Constraints all;
    for (const SpreadConstraint& one : pod.spread_constraints) all.push_back(&one);
    return all;
}

TEST(SpreadEligibility, KeptTablesEqualFreshOnes) {
    Cluster cluster;
    Changes changes(5);
    SpreadEligibility kept;
    std::size_t compared = 0;
    for (int step = 0; step < 3000; ++step) {
        if (step % 3 == 0) changes.change(cluster);
        const PodInfo info = changes.some_pod("p");
        const Constraints constraints = constraints_of(info);
        if (constraints.empty()) continue;
        SpreadEligibility fresh;
        const auto expected = fresh.of(info, constraints, cluster);
        const auto nodes = kept.of(info, constraints, cluster);
        ASSERT_EQ(nodes.size(), expected.size());
        ASSERT_EQ(nodes[0].slots, expected[0].slots) << step;
        ASSERT_EQ(nodes[0].domains, expected[0].domains) << step;
        ASSERT_EQ(nodes[0].domain_count, expected[0].domain_count) << step;
        ++compared;
    }
    EXPECT_GT(compared, 500u);
}

TEST(SpreadEligibility, PodsOfOneTemplateShareATableUntilANodeChanges) {
    Cluster cluster;
    for (const char* name : {"a", "b"}) cluster.set_node(labeled(node(name), {{"zone", name}}));
    PodInfo info = pod("p");
    info.spread_constraints = {{.max_skew = 1, .topology_key = "zone", .selector = Selector::of({{"app", "x"}})}};
    SpreadEligibility eligibility;
    const auto* first = eligibility.of(info, constraints_of(info), cluster).data();
    PodInfo second = info;
    second.uid = "other";
    cluster.set_pod(placed(second, "a"));
    EXPECT_EQ(eligibility.of(second, constraints_of(second), cluster).data(), first);
    NodeSpec again = labeled(node("b"), {{"zone", "b"}});
    again.allowed_pods = 1;
    cluster.set_node(again);
    EXPECT_EQ(eligibility.of(info, constraints_of(info), cluster).data(), first) << "neither labels nor taints have changed";

    again.labels["zone"] = "a";
    cluster.set_node(again);
    EXPECT_EQ(eligibility.of(info, constraints_of(info), cluster)[0].domain_count, 1u);
    cluster.remove_node("b");
    info.spread_constraints[0].honor_node_taints = true;
    EXPECT_EQ(eligibility.of(info, constraints_of(info), cluster)[0].domain_count, 1u);
    NodeSpec tainted = labeled(node("a"), {{"zone", "a"}});
    tainted.taints = {{"os", "windows", TaintEffect::NoSchedule}};
    cluster.set_node(tainted);
    EXPECT_EQ(eligibility.of(info, constraints_of(info), cluster)[0].domain_count, 0u);
}

}  // namespace
}  // namespace porthole::scheduler
