#include "scheduler/node_verdicts.h"

#include <gtest/gtest.h>

#include "scheduler/random_changes_fixture.h"
#include "scheduler/scheduler_fixture.h"

namespace porthole::scheduler {
namespace {

using namespace testing;

NodeSpec chosen_node() { return labeled(node("n"), {{"gen", "3"}}); }

PodInfo asking(const std::string& name) {
    PodInfo info = pod(name, 1000);
    info.labels = {{"app", "web"}};
    info.node_selector = {{"gen", "3"}};
    info.host_ports = {{"0.0.0.0", "TCP", 80}};
    return info;
}

PodRef in_the_way(const std::function<void(PodInfo&)>& change) {
    PodInfo info = pod("other");
    change(info);
    return placed(info, "n");
}

TEST(NodeVerdicts, AreAskedForAgainWhereANodeHasChanged) {
    struct {
        const char* name;
        std::function<void(Cluster&)> change;
        const char* expected;
    } const rows[] = {
        {"label", [](Cluster& cluster) { cluster.set_node(node("n")); }, "1 node(s) didn't match Pod's node affinity/selector"},
        {"taint",
         [](Cluster& cluster) {
             NodeSpec spec = chosen_node();
             spec.taints = {{"os", "windows", TaintEffect::NoExecute}};
             cluster.set_node(spec);
         },
         "1 node(s) had untolerated taint(s)"},
        {"cordon",
         [](Cluster& cluster) {
             NodeSpec spec = chosen_node();
             spec.unschedulable = true;
             cluster.set_node(spec);
         },
         "1 node(s) were unschedulable"},
        {"allocatable", [](Cluster& cluster) { cluster.set_node(labeled(node("n", 900), {{"gen", "3"}})); }, "1 Insufficient cpu"},
        {"allowed pods",
         [](Cluster& cluster) {
             NodeSpec spec = chosen_node();
             spec.allowed_pods = 0;
             cluster.set_node(spec);
         },
         "1 Too many pods"},
        {"pod placed", [](Cluster& cluster) { cluster.set_pod(in_the_way([](PodInfo& p) { p.requests.milli_cpu = 3500; })); },
         "1 Insufficient cpu"},
        {"pod assumed", [](Cluster& cluster) { cluster.assume(in_the_way([](PodInfo& p) { p.requests.milli_cpu = 3500; }), "n"); },
         "1 Insufficient cpu"},
        {"port taken", [](Cluster& cluster) { cluster.set_pod(in_the_way([](PodInfo& p) { p.host_ports = {{"0.0.0.0", "TCP", 80}}; })); },
         "1 node(s) didn't have free ports for the requested pod ports"},
        {"pod nominated", [](Cluster& cluster) { cluster.nominate(in_the_way([](PodInfo& p) { p.requests.milli_cpu = 3500; }), "n"); },
         "1 Insufficient cpu"},
        {"anti-affinity of a pod",
         [](Cluster& cluster) {
             cluster.set_pod(in_the_way([](PodInfo& p) {
                 p.anti_affinity = {term({{"app", "web"}}, "kubernetes.io/hostname")};
                 p.affinity_text = "-";
             }));
         },
         "1 node(s) didn't satisfy existing pods anti-affinity rules"},
        {"another node in its slot",
         [](Cluster& cluster) {
             cluster.remove_node("n");
             cluster.set_node(node("m"));
         },
         "1 node(s) didn't match Pod's node affinity/selector"},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        World world;
        world.cluster.set_node(chosen_node());
        EXPECT_EQ(world.choice(asking("first")), "n");
        EXPECT_EQ(world.choice(asking("second")), "n");
        row.change(world.cluster);
        EXPECT_EQ(world.choice(asking("third")), "0/1 nodes are available: " + std::string(row.expected) + ".");
        world.cluster.remove_pod("uid-other");
        world.cluster.clear_nomination("uid-other");
        world.cluster.remove_node("m");
        world.cluster.set_node(chosen_node());
        EXPECT_EQ(world.choice(asking("fourth")), "n");
    }
}

TEST(NodeVerdicts, HoldForAlikePodsOnly) {
    const PodInfo first = asking("first");
    PodInfo other_name = asking("second");
    other_name.labels = {{"app", "db"}};
    EXPECT_TRUE(alike_on_any_node(first, other_name));
    const std::function<void(PodInfo&)> differences[] = {
        [](PodInfo& p) { p.requests.milli_cpu = 1001; },
        [](PodInfo& p) { p.requests.extended = {{"example.com/gpu", 1}}; },
        [](PodInfo& p) { p.scored_milli_cpu = 7; },
        [](PodInfo& p) { p.scored_memory = 7; },
        [](PodInfo& p) { p.node_name = "n"; },
        [](PodInfo& p) { p.host_ports[0].ip = "192.0.2.1"; },
        [](PodInfo& p) { p.node_selector = {{"gen", "5"}}; },
        [](PodInfo& p) { p.required_node_terms.emplace(); },
        [](PodInfo& p) { p.tolerations = {{.exists = true}}; },
    };
    for (std::size_t i = 0; i < std::size(differences); ++i) {
        SCOPED_TRACE(i);
        PodInfo other = asking("first");
        differences[i](other);
        EXPECT_FALSE(alike_on_any_node(first, other));
        NodeVerdicts verdicts;
        verdicts.of(first, 2)[1].generation = 5;
        EXPECT_EQ(verdicts.of(other, 2)[1].generation, 0u);
        EXPECT_EQ(verdicts.of(first, 3)[1].generation, 5u);
    }
}

TEST(NodeVerdicts, AreForgottenForThePodsUsedLongestAgo) {
    NodeVerdicts verdicts;
    for (const std::int64_t cpu : {1, 2, 3, 4}) verdicts.of(pod("p", cpu), 1)[0].generation = 9;
    EXPECT_EQ(verdicts.of(pod("p", 1), 1)[0].generation, 9u);
    verdicts.of(pod("p", 5), 1);
    EXPECT_EQ(verdicts.of(pod("p", 1), 1)[0].generation, 9u);
    EXPECT_EQ(verdicts.of(pod("p", 2), 1)[0].generation, 0u);
}

/// A cycle that remembers decides as one that is made for each decision does.
TEST(NodeVerdicts, ChangeNoDecision) {
    World world;
    Changes changes(11);
    SeededRandom kept_ties{3}, fresh_ties{3};
    Cycle kept(world.cluster, world.plugins, kept_ties);
    std::size_t placed_pods = 0;
    for (int step = 0; step < 3000; ++step) {
        changes.change(world.cluster);
        const PodInfo info = changes.some_pod("p" + std::to_string(step % 100));
        const Decision decision = kept.decide(info);
        const Decision expected = Cycle(world.cluster, world.plugins, fresh_ties).decide(info);
        ASSERT_EQ(decision.node, expected.node) << step;
        ASSERT_EQ(decision.evaluated, expected.evaluated) << step;
        ASSERT_EQ(decision.feasible, expected.feasible) << step;
        ASSERT_EQ(decision.diagnosis.text(), expected.diagnosis.text()) << step;
        ASSERT_EQ(decision.diagnosis.rejected_by, expected.diagnosis.rejected_by) << step;
        if (!decision.node) continue;
        ++placed_pods;
        world.cluster.assume(std::make_shared<const PodInfo>(info), decision.node->name());
    }
    EXPECT_GT(placed_pods, 500u);
}

}  // namespace
}  // namespace porthole::scheduler
