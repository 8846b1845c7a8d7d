#include <gtest/gtest.h>

#include "runtime/scope.h"
#include "runtime/sim/sim_loop.h"
#include "runtime/sync.h"

using namespace std::chrono_literals;

namespace porthole {
namespace {

Task<int> number(int n) { co_return n; }
Task<int> failure() { co_return Error(Reason::NotFound, "none"); }

Task<long> sum_of(int count) {
    long sum = 0;
    for (int i = 0; i < count; ++i) {
        CO_TRY(const int n, co_await number(1));
        sum += n;
    }
    co_return sum;
}

Task<int> pass_on_failure() {
    CO_TRY(const int n, co_await failure());
    co_return n + 1;
}

TEST(Task, TwoMillionTasksThatEndAtOnceDoNotGrowTheStack) {
    sim::SimLoop loop;
    EXPECT_EQ(sim::run(loop, sum_of(2'000'000)).value(), 2'000'000);
}

TEST(Task, HandsErrorsUp) {
    sim::SimLoop loop;
    EXPECT_EQ(sim::run(loop, pass_on_failure()).error().reason, Reason::NotFound);
}

Task<> sleep_then_set(EventLoop& loop, Duration delay, Event& event) {
    CO_TRY_VOID(co_await loop.sleep(delay));
    event.set();
    co_return {};
}

TEST(Task, SleepTakesVirtualTimeOnly) {
    sim::SimLoop loop;
    Event event;
    const MonotonicTime start = loop.now();
    ASSERT_TRUE(sim::run(loop, sleep_then_set(loop, 10min, event)));
    EXPECT_EQ(loop.now() - start, 10min);
}

Task<> wait_for(Event& event) { co_return co_await event.wait(); }

TEST(Timeout, EndsALongWait) {
    sim::SimLoop loop;
    Event never;
    const auto result = sim::run(loop, with_timeout(wait_for(never), 3s, "the event"));
    EXPECT_EQ(result.error().reason, Reason::Timeout);
    EXPECT_EQ(result.error().message, "timed out: the event");
}

TEST(Timeout, LeavesAQuickTaskAlone) {
    sim::SimLoop loop;
    EXPECT_EQ(sim::run(loop, with_timeout(number(7), 3s, "never")).value(), 7);
}

TEST(Scope, CloseCancelsAndWaits) {
    sim::SimLoop loop;
    Event never, late;
    Scope scope(loop);
    scope.spawn(wait_for(never));
    scope.spawn(sleep_then_set(loop, 1h, late));
    loop.run_ready();
    EXPECT_FALSE(scope.empty());
    ASSERT_TRUE(sim::run(loop, scope.close()));
    EXPECT_TRUE(scope.empty());
    EXPECT_FALSE(late.is_set());
}

TEST(Scope, ReportsFailuresButNotCancellation) {
    sim::SimLoop loop;
    std::vector<Reason> seen;
    Scope scope(loop, [&](const Error& error) { seen.push_back(error.reason); });
    Event never;
    scope.spawn(wait_for(never));
    scope.spawn([]() -> Task<> { co_return Error(Reason::Io, "disk"); }());
    ASSERT_TRUE(sim::run(loop, scope.close()));
    loop.run_ready();
    EXPECT_EQ(seen, std::vector{Reason::Io});
}

Task<std::string> drain(Channel<std::string>& channel) {
    std::string all;
    for (;;) {
        CO_TRY(auto item, co_await channel.next());
        if (!item) co_return all;
        all += *item;
    }
}

TEST(Channel, DeliversInOrderAndThenItsEnd) {
    sim::SimLoop loop;
    Channel<std::string> channel;
    channel.push("a");
    loop.call_after(1s, [&] { channel.push("b"); });
    loop.call_after(2s, [&] {
        channel.push("c");
        channel.close();
    });
    EXPECT_EQ(sim::run(loop, drain(channel)).value(), "abc");
}

Task<> hold(EventLoop& loop, Semaphore& semaphore, int& now, int& most) {
    CO_TRY(const auto permit, co_await semaphore.acquire());
    most = std::max(most, ++now);
    CO_TRY_VOID(co_await loop.sleep(1s));
    --now;
    co_return {};
}

TEST(Semaphore, BoundsHolders) {
    sim::SimLoop loop;
    Semaphore semaphore(3);
    int now = 0, most = 0;
    std::vector<Task<>> tasks;
    for (int i = 0; i < 10; ++i) tasks.push_back(hold(loop, semaphore, now, most));
    const auto results = sim::run(loop, when_all(std::move(tasks))).value();
    EXPECT_EQ(results.size(), 10u);
    EXPECT_EQ(most, 3);
    EXPECT_EQ(now, 0);
}

TEST(WorkerPool, ReturnsTheResultToTheLoop) {
    sim::SimLoop loop;
    sim::SimWorkerPool pool(loop);
    EXPECT_EQ(sim::run(loop, run_blocking<int>(pool, [] { return Result<int>(5); })).value(), 5);
}

TEST(SimLoop, RunsTimersByTimeThenByOrder) {
    sim::SimLoop loop;
    std::string order;
    loop.call_after(2s, [&] { order += "c"; });
    loop.call_after(1s, [&] { order += "a"; });
    loop.call_after(1s, [&] { order += "b"; });
    const TimerId forgotten = loop.call_after(1s, [&] { order += "x"; });
    loop.cancel_timer(forgotten);
    loop.advance(5s);
    EXPECT_EQ(order, "abc");
}

}  // namespace
}  // namespace porthole
