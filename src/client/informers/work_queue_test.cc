#include "client/informers/work_queue.h"

#include <gtest/gtest.h>

#include "runtime/sim/sim_loop.h"

using namespace std::chrono_literals;

namespace porthole::client {
namespace {

const NamespacedName A{"ns", "a"}, B{"ns", "b"};

struct WorkQueueTest : testing::Test {
    std::string take() {
        Result<NamespacedName> key = sim::run(loop, queue.next(), 1s);
        return key ? key->name : "nothing";
    }
    sim::SimLoop loop;
    WorkQueue queue{loop};
};

TEST_F(WorkQueueTest, HoldsEachKeyOnce) {
    queue.add(A);
    queue.add(B);
    queue.add(A);
    EXPECT_EQ(take(), "a");
    EXPECT_EQ(take(), "b");
    EXPECT_EQ(take(), "nothing");
}

TEST_F(WorkQueueTest, QueuesAKeyAgainThatChangedWhileItWasWorkedOn) {
    queue.add(A);
    EXPECT_EQ(take(), "a");
    queue.add(A);
    EXPECT_EQ(take(), "nothing");
    queue.done(A);
    EXPECT_EQ(take(), "a");
    queue.done(A);
    EXPECT_EQ(take(), "nothing");
    EXPECT_TRUE(queue.idle());
}

TEST_F(WorkQueueTest, TheEarliestOfSeveralWaitsCounts) {
    queue.add_after(A, 10s);
    queue.add_after(A, 3s);
    queue.add_after(A, 30s);
    loop.advance(2s);
    EXPECT_EQ(queue.size(), 0u);
    loop.advance(1s);
    EXPECT_EQ(take(), "a");
    queue.done(A);
    loop.advance(1h);
    EXPECT_EQ(queue.size(), 0u);
}

TEST_F(WorkQueueTest, FailuresDoubleTheWaitUpToALimit) {
    const struct {
        int failures;
        Duration wait;
    } rows[] = {{1, 5ms}, {2, 10ms}, {5, 80ms}, {18, 655360ms}, {19, 1000s}, {60, 1000s}};
    for (const auto& row : rows) {
        SCOPED_TRACE(row.failures);
        WorkQueue fresh(loop, {.per_second = 1e9});
        for (int i = 1; i < row.failures; ++i) {
            fresh.add_rate_limited(A);
            loop.advance(1001s);
            (void)sim::run(loop, fresh.next());
            fresh.done(A);
        }
        fresh.add_rate_limited(A);
        loop.advance(row.wait - 1ms);
        EXPECT_EQ(fresh.size(), 0u);
        loop.advance(1ms);
        EXPECT_EQ(fresh.size(), 1u);
    }
}

TEST_F(WorkQueueTest, ForgettingStartsOver) {
    for (int i = 0; i < 8; ++i) queue.add_rate_limited(A);
    EXPECT_EQ(queue.retries(A), 8);
    queue.forget(A);
    EXPECT_EQ(queue.retries(A), 0);
}

TEST_F(WorkQueueTest, RetriesOfAllKeysTogetherAreBounded) {
    for (int i = 0; i < 150; ++i) queue.add_rate_limited({"ns", std::to_string(i)});
    loop.advance(1s);
    EXPECT_EQ(queue.size(), 110u);
    loop.advance(4s);
    EXPECT_EQ(queue.size(), 150u);
}

}  // namespace
}  // namespace porthole::client
