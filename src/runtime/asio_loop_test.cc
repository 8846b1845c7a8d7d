#include "runtime/asio_loop.h"

#include <gtest/gtest.h>

#include "runtime/scope.h"
#include "runtime/worker_pool.h"

using namespace std::chrono_literals;

namespace porthole {
namespace {

Task<> work(EventLoop& loop, WorkerPool& pool, std::string& order) {
    CO_TRY_VOID(co_await loop.sleep(1ms));
    order += "slept ";
    CO_TRY(const int n, co_await run_blocking<int>(pool, [] { return Result<int>(42); }));
    order += std::to_string(n);
    co_return {};
}

Task<> work_then_stop(AsioLoop& loop, WorkerPool& pool, std::string& order) {
    CO_TRY_VOID(co_await with_timeout(work(loop, pool, order), 120s, "work"));
    loop.stop();
    co_return {};
}

TEST(AsioLoop, RunsTimersAndWorkersOfRealThreads) {
    AsioLoop loop;
    std::string order;
    {
        Scope scope(loop);
        const auto pool = make_thread_pool(2);
        scope.spawn(work_then_stop(loop, *pool, order));
        loop.run();
    }
    EXPECT_EQ(order, "slept 42");
}

TEST(AsioLoop, ATimerMayForgetAnotherThatIsDueAtTheSameTime) {
    AsioLoop loop;
    bool second = false;
    const MonotonicTime when = loop.now();
    TimerId other{};
    loop.call_at(when, [&] { loop.cancel_timer(other); });
    other = loop.call_at(when, [&] { second = true; });
    loop.call_after(5ms, [&] { loop.stop(); });
    loop.run();
    EXPECT_FALSE(second);
}

}  // namespace
}  // namespace porthole
