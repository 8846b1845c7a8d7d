#include "scheduler/plugins/preemption.h"

#include <gtest/gtest.h>

#include "scheduler/scheduler_fixture.h"

namespace porthole::scheduler {
namespace {

using namespace testing;

PodInfo important(std::int64_t cpu, std::int32_t priority = 100) {
    PodInfo info = pod("important", cpu);
    info.priority = priority;
    return info;
}

PodInfo runs(std::string name, std::int64_t cpu, std::int32_t priority, std::int64_t started = 1000) {
    PodInfo info = pod(std::move(name), cpu);
    info.priority = priority;
    info.started = Timestamp::from_seconds(started);
    return info;
}

struct PreemptionWorld : World {
    std::vector<DisruptionBudget> budgets;
    PreemptionCandidates preempt(const PodInfo& info) {
        const Decision decision = cycle.decide(info);
        EXPECT_EQ(decision.node, nullptr);
        return find_candidates(info, cluster, budgets, decision.diagnosis, cycle, random);
    }
    static std::string names(const PreemptionCandidates& found) {
        if (found.candidates.empty()) return found.message;
        std::string text = cheapest(found.candidates).node + ":";
        for (const PodRef& victim : cheapest(found.candidates).victims) text += " " + victim->name;
        return text;
    }
};

TEST(Preemption, SparesWhomItCanTheMoreImportantFirst) {
    PreemptionWorld world;
    world.cluster.set_node(node("n", 1000));
    world.cluster.set_pod(placed(runs("low", 400, 1), "n"));
    world.cluster.set_pod(placed(runs("middle", 400, 5), "n"));
    EXPECT_EQ(world.names(world.preempt(important(500))), "n: low");
    EXPECT_EQ(world.names(world.preempt(important(1000))), "n: middle low");
}

TEST(Preemption, ChoosesTheNodeWhoseVictimsMatterLeast) {
    PreemptionWorld world;
    for (const char* name : {"a", "b", "c"}) world.cluster.set_node(node(name, 1000));
    world.cluster.set_pod(placed(runs("on-a", 1000, 50), "a"));
    world.cluster.set_pod(placed(runs("on-b", 1000, 10, 1000), "b"));
    world.cluster.set_pod(placed(runs("on-c", 1000, 10, 2000), "c"));
    EXPECT_EQ(world.names(world.preempt(important(1000))), "c: on-c") << "the youngest among equals";
    world.budgets = {{"default", Selector{}, 0}};
    PodInfo guarded = runs("on-c", 1000, 10, 2000);
    guarded.labels = {{"app", "c"}};
    world.cluster.set_pod(placed(guarded, "c"));
    EXPECT_EQ(world.names(world.preempt(important(1000))), "b: on-b") << "budgets come first";
    world.budgets.front().disrupted = {"on-c"};
    EXPECT_EQ(world.names(world.preempt(important(1000))), "c: on-c") << "its eviction was granted already";
}

TEST(Preemption, SaysWhyItIsNoWayOut) {
    PreemptionWorld world;
    world.cluster.set_node(node("full", 1000));
    world.cluster.set_pod(placed(runs("equal", 1000, 100), "full"));
    world.cluster.set_node(node("tiny", 100));
    EXPECT_EQ(world.preempt(important(1000)).message,
              "0/2 nodes are available: 1 No preemption victims found for incoming pod, 1 Preemption is not helpful for "
              "scheduling.");
    PodInfo modest = important(1000, 200);
    modest.never_preempts = true;
    EXPECT_EQ(world.preempt(modest).message, "not eligible due to preemptionPolicy=Never.");
    PodInfo waiting = important(1000, 200);
    waiting.nominated_node_name = "full";
    PodInfo ending = runs("equal", 1000, 100);
    ending.terminating = ending.preempted = true;
    world.cluster.set_pod(placed(ending, "full"));
    EXPECT_EQ(world.preempt(waiting).message, "not eligible due to a terminating pod on the nominated node.");
}

TEST(Preemption, WaitsForItsVictimsOnlyAndWhileTheyMakeRoom) {
    PreemptionWorld world;
    world.cluster.set_node(node("full", 1000));
    world.cluster.set_node(node("other", 1000));
    world.cluster.set_pod(placed(runs("on-other", 1000, 100), "other"));
    PodInfo waiting = important(1000, 200);
    waiting.nominated_node_name = "full";
    PodInfo ending = runs("on-full", 1000, 90);
    ending.terminating = true;
    world.cluster.set_pod(placed(ending, "full"));
    EXPECT_EQ(world.names(world.preempt(waiting)), "full: on-full") << "whoever deleted it may have deleted it for ever";
    ending.preempted = true;
    world.cluster.set_pod(placed(ending, "full"));
    EXPECT_EQ(world.preempt(waiting).message, "not eligible due to a terminating pod on the nominated node.");
    NodeSpec cordoned = node("full", 1000);
    cordoned.unschedulable = true;
    world.cluster.set_node(cordoned);
    EXPECT_EQ(world.names(world.preempt(waiting)), "other: on-other");
}

TEST(Preemption, UnderstandsPlacementThatDependsOnTheVictims) {
    PreemptionWorld world;
    world.cluster.set_node(node("n"));
    PodInfo rival = runs("rival", 0, 1);
    rival.labels = {{"app", "rival"}};
    world.cluster.set_pod(placed(rival, "n"));
    world.cluster.set_pod(placed(runs("bystander", 0, 1), "n"));
    PodInfo info = important(0);
    info.anti_affinity = {term({{"app", "rival"}}, "kubernetes.io/hostname")};
    EXPECT_EQ(world.names(world.preempt(info)), "n: rival");
}

TEST(Preemption, NominatedRoomIsTakenForLowerPriorities) {
    World world;
    world.cluster.set_node(node("n", 1000));
    PodInfo preemptor = important(800);
    world.cluster.nominate(std::make_shared<const PodInfo>(preemptor), "n");
    EXPECT_EQ(world.cycle.decide(pod("low", 500)).node, nullptr);
    EXPECT_NE(world.cycle.decide(important(1000, 200)).node, nullptr);
    world.cluster.clear_nomination(preemptor.uid);
    EXPECT_NE(world.cycle.decide(pod("low", 500)).node, nullptr);
}

}  // namespace
}  // namespace porthole::scheduler
