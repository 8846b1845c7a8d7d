#include "scheduler/queue.h"

#include <gtest/gtest.h>

#include "scheduler/scheduler_fixture.h"

namespace porthole::scheduler {
namespace {

using namespace testing;
using namespace std::chrono_literals;

struct QueueWorld : World {
    SchedulingQueue queue{loop, plugins};

    PluginSet bit(std::string_view name) const {
        for (std::size_t i = 0; i < plugins.size(); ++i) {
            if (plugins[i]->name() == name) return 1u << i;
        }
        return 0;
    }
    std::string pop() {
        const PodRef info = queue.pop();
        return info ? info->name : "";
    }
};

PodRef pending(std::string name, std::int32_t priority = 0, std::int64_t cpu = 0) {
    PodInfo info = pod(std::move(name), cpu);
    info.priority = priority;
    return std::make_shared<const PodInfo>(info);
}

TEST(SchedulingQueue, BacksOffAsConfigured) {
    World world;
    SchedulingQueue queue{world.loop, world.plugins, {.initial = 3s, .longest = 4s}};
    queue.set(pending("a"));
    for (const Duration backoff : {Duration(3s), Duration(4s), Duration(4s)}) {
        ASSERT_TRUE(queue.pop());
        queue.retry_after_error("uid-a");
        EXPECT_EQ(*queue.flush() - world.loop.now(), backoff);
        world.loop.advance(backoff);
        queue.flush();
    }
}

TEST(SchedulingQueue, HandsOutByPriorityThenAge) {
    QueueWorld world;
    world.queue.set(pending("old"));
    world.queue.set(pending("new"));
    world.queue.set(pending("urgent", 10));
    EXPECT_EQ(world.pop(), "urgent");
    EXPECT_EQ(world.pop(), "old");
    EXPECT_EQ(world.pop(), "new");
    EXPECT_EQ(world.pop(), "");
}

TEST(SchedulingQueue, HoldsGatedPodsUntilTheLastGateOpens) {
    QueueWorld world;
    PodInfo info = pod("gated");
    info.scheduling_gates = {"wait"};
    world.queue.set(std::make_shared<const PodInfo>(info));
    EXPECT_EQ(world.pop(), "");
    EXPECT_EQ(world.queue.sizes().gated, 1u);
    info.scheduling_gates.clear();
    world.queue.set(std::make_shared<const PodInfo>(info));
    EXPECT_EQ(world.pop(), "gated");
}

TEST(SchedulingQueue, HoldsPodsUntilTheirResourceClaimsAreMade) {
    QueueWorld world;
    PodInfo info = pod("gated");
    info.device_claims = {{.name = "dev", .is_generated = true}};
    world.queue.set(std::make_shared<const PodInfo>(info));
    EXPECT_EQ(world.pop(), "");
    EXPECT_EQ(world.queue.sizes().gated, 1u);
    info.device_claims[0].claim = "p-dev-1";
    world.queue.set(std::make_shared<const PodInfo>(info));
    EXPECT_EQ(world.pop(), "gated");
}

TEST(SchedulingQueue, RetriesOnlyOnEventsThatHelpTheRejectingPlugin) {
    QueueWorld world;
    world.queue.set(pending("big", 0, 2000));
    world.pop();
    world.queue.retry_after_rejection("uid-big", world.bit("NodeResourcesFit"));
    world.loop.advance(2s);
    world.queue.flush();

    const NodeSpec too_small = node("n", 1000), large = node("n", 3000);
    world.queue.on_event({.kind = ClusterEvent::Kind::NodeAdded, .node = &too_small});
    EXPECT_EQ(world.pop(), "");
    NodeSpec relabeled = large;
    relabeled.labels["x"] = "y";
    world.queue.on_event({.kind = ClusterEvent::Kind::NodeChanged, .node = &relabeled, .old_node = &large});
    EXPECT_EQ(world.pop(), "");
    world.queue.on_event({.kind = ClusterEvent::Kind::NodeAdded, .node = &large});
    EXPECT_EQ(world.pop(), "big");
}

TEST(SchedulingQueue, BacksOffErrorsTwiceAsLongEachTimeUpToTenSeconds) {
    QueueWorld world;
    world.queue.set(pending("p"));
    for (const auto expected : {1s, 2s, 4s, 8s, 10s, 10s}) {
        EXPECT_EQ(world.pop(), "p");
        world.queue.retry_after_error("uid-p");
        EXPECT_EQ(world.queue.flush(), world.loop.now() + expected);
        world.loop.advance(expected - 1ms);
        world.queue.flush();
        EXPECT_EQ(world.pop(), "");
        world.loop.advance(1ms);
        world.queue.flush();
    }
}

TEST(SchedulingQueue, HandsOutRejectedPodsInBackoffWhenIdle) {
    QueueWorld world;
    world.queue.set(pending("p"));
    world.pop();
    world.queue.retry_after_rejection("uid-p", world.bit("NodeResourcesFit"));
    const NodeSpec large = node("n", 3000);
    world.queue.on_event({.kind = ClusterEvent::Kind::NodeAdded, .node = &large});
    EXPECT_EQ(world.queue.sizes().backoff, 1u);
    EXPECT_EQ(world.pop(), "p");
}

TEST(SchedulingQueue, TriesUnschedulablePodsAgainAfterFiveMinutes) {
    QueueWorld world;
    world.queue.set(pending("p"));
    world.pop();
    world.queue.retry_after_rejection("uid-p", world.bit("NodeName"));
    world.loop.advance(299s);
    world.queue.flush();
    EXPECT_EQ(world.pop(), "");
    world.loop.advance(1s);
    world.queue.flush();
    EXPECT_EQ(world.pop(), "p");
}

TEST(SchedulingQueue, IgnoresStatusOnlyChangesAndReactsToRealOnes) {
    QueueWorld world;
    world.queue.set(pending("p"));
    world.pop();
    world.queue.retry_after_rejection("uid-p", world.bit("TaintToleration"));
    world.loop.advance(2s);
    world.queue.set(pending("p"));
    EXPECT_EQ(world.pop(), "");
    PodInfo tolerant = pod("p");
    tolerant.tolerations = {{.exists = true}};
    world.queue.set(std::make_shared<const PodInfo>(tolerant));
    EXPECT_EQ(world.pop(), "p");
}

TEST(SchedulingQueue, ForgetsRemovedPodsEvenInFlight) {
    QueueWorld world;
    world.queue.set(pending("p"));
    world.pop();
    world.queue.remove("uid-p");
    world.queue.retry_after_error("uid-p");
    world.queue.retry_after_rejection("uid-p", 1);
    EXPECT_FALSE(world.queue.flush().has_value());
    EXPECT_FALSE(world.queue.contains("uid-p"));
}

TEST(SchedulingQueue, APodThatEndsAndIsPendingAgainDuringAnAttemptWaitsInOnePlace) {
    QueueWorld world;
    world.queue.set(pending("p"));
    world.pop();
    EXPECT_TRUE(world.queue.is_in_flight("uid-p"));
    world.queue.remove("uid-p");
    world.queue.set(pending("p"));
    EXPECT_FALSE(world.queue.is_in_flight("uid-p"));
    world.queue.retry_after_error("uid-p");
    world.queue.retry_after_rejection("uid-p", 1);
    const SchedulingQueue::Sizes sizes = world.queue.sizes();
    EXPECT_EQ(sizes.active, 1u);
    EXPECT_EQ(sizes.backoff + sizes.unschedulable, 0u);
    EXPECT_EQ(world.pop(), "p");
    EXPECT_EQ(world.pop(), "");
}

}  // namespace
}  // namespace porthole::scheduler
