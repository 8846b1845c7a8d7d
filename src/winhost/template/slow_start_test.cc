#include "winhost/template/slow_start.h"

#include <gtest/gtest.h>

#include "runtime/sim/sim_loop.h"

namespace porthole::winhost {
namespace {

using namespace std::chrono_literals;

Task<int> seven_after(EventLoop& loop, Duration delay) {
    CO_TRY_VOID(co_await loop.sleep(delay));
    co_return 7;
}

struct SlowStartTest : testing::Test {
    Result<int> run(Task<int> work) {
        return sim::run(loop, with_reports(loop, std::move(work), [this](Duration since) { reports.push_back(since); }));
    }
    sim::SimLoop loop;
    std::vector<Duration> reports;
};

TEST_F(SlowStartTest, WhatTakesLongIsReportedUntilItEnds) {
    EXPECT_EQ(run(seven_after(loop, 100s)).value(), 7);
    EXPECT_EQ(reports, (std::vector<Duration>{30s, 60s, 90s}));
    loop.advance(10min);
    EXPECT_EQ(reports.size(), 3U) << "it has ended";
}

TEST_F(SlowStartTest, WhatIsFastIsNotReported) {
    EXPECT_EQ(run(seven_after(loop, 5s)).value(), 7);
    EXPECT_TRUE(reports.empty());
}

TEST_F(SlowStartTest, OnlyAWineThatHangsIsGivenUp) {
    EXPECT_EQ(run(with_timeout(seven_after(loop, 14min + 10s), LongestWineStart, "Wine")).value(), 7);
    EXPECT_EQ(reports.size(), 28U);
    EXPECT_EQ(run(with_timeout(seven_after(loop, 20min), LongestWineStart, "Wine")).error().reason, Reason::Timeout);
}

}  // namespace
}  // namespace porthole::winhost
