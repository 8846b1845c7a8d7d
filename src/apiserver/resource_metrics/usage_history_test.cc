#include "apiserver/resource_metrics/usage_history.h"

#include <gtest/gtest.h>

namespace porthole::apiserver {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t Start = 1'700'000'000'000'000'000;
constexpr std::int64_t at(Duration passed) { return Start + passed.count(); }

/// Rounds of one node with one pod of one container.
struct UsageHistoryTest : testing::Test {
    void node(Duration when, std::uint64_t cpu) {
        std::map<std::string, KubeletSamples> round;
        round["n"].node = UsagePoint{.time = at(when), .cpu = cpu, .memory = 1000};
        history.add(round, 15s);
    }
    void container(Duration when, std::uint64_t cpu, Duration started = -1h) {
        std::map<std::string, KubeletSamples> round;
        round["n"].pods["ns/p"]["c"] = {.started_at = at(started), .time = at(when), .cpu = cpu, .memory = 2000};
        history.add(round, 15s);
    }
    std::uint64_t cpu() { return history.pod("ns/p")->containers.at("c").cpu; }

    UsageHistory history;
};

TEST_F(UsageHistoryTest, TwoSamplesMakeARate) {
    node(0s, 1'000'000'000);
    EXPECT_FALSE(history.node("n"));
    node(15s, 4'000'000'000);
    const auto usage = history.node("n");
    ASSERT_TRUE(usage);
    EXPECT_EQ(usage->usage.cpu, 200'000'000u);
    EXPECT_EQ(usage->usage.memory, 1000u);
    EXPECT_EQ(usage->time, at(15s));
    EXPECT_EQ(usage->window, 15s);
    EXPECT_FALSE(history.node("m"));
}

TEST_F(UsageHistoryTest, AnAbsurdRateStaysANumber) {
    node(0s, 0);
    node(1ns, 9'000'000'000'000'000'000);
    EXPECT_EQ(history.node("n")->usage.cpu, 9'000'000'000'000'000'000u);
}

TEST_F(UsageHistoryTest, ASampleToldTwiceChangesNothing) {
    node(0s, 1'000'000'000);
    node(15s, 4'000'000'000);
    node(15s, 4'000'000'000);
    EXPECT_EQ(history.node("n")->window, 15s);
    container(0s, 1'000'000'000);
    container(15s, 2'500'000'000);
    container(15s, 2'500'000'000);
    EXPECT_EQ(cpu(), 100'000'000u);
}

TEST_F(UsageHistoryTest, WhatIsMissingInARoundIsForgotten) {
    node(0s, 1);
    node(15s, 2);
    history.add({}, 15s);
    EXPECT_FALSE(history.node("n"));
    node(45s, 3);
    EXPECT_FALSE(history.node("n"));
    node(60s, 4);
    EXPECT_TRUE(history.node("n"));
}

TEST_F(UsageHistoryTest, ANodeStartedAgainHasNoUseForOneRound) {
    node(0s, 1'000'000'000);
    node(15s, 10);
    EXPECT_FALSE(history.node("n"));
    node(30s, 20);
    EXPECT_TRUE(history.node("n"));
}

TEST_F(UsageHistoryTest, AContainerStartedAgainBeginsAnew) {
    container(0s, 5'000'000'000);
    container(15s, 1'000'000, 14s);
    EXPECT_FALSE(history.pod("ns/p")) << "one second is too short to be measured";
    container(30s, 151'000'000, 14s);
    EXPECT_EQ(cpu(), 10'000'000u);
}

TEST_F(UsageHistoryTest, AFreshContainerIsMeasuredFromItsStart) {
    container(12s, 1'200'000'000, 0s);
    ASSERT_TRUE(history.pod("ns/p"));
    EXPECT_EQ(cpu(), 100'000'000u);
    EXPECT_EQ(history.pod("ns/p")->window, 12s);
}

TEST_F(UsageHistoryTest, APodIsToldOnceAllItsContainersAre) {
    const auto round = [&](Duration when, bool both) {
        std::map<std::string, KubeletSamples> samples;
        auto& pod = samples["n"].pods["ns/p"];
        pod["a"] = {.started_at = at(-1h), .time = at(when), .cpu = 1, .memory = 1};
        if (both) pod["b"] = {.started_at = at(-1h), .time = at(when + 1s), .cpu = 1, .memory = 1};
        history.add(samples, 15s);
    };
    round(0s, false);
    round(15s, true);
    EXPECT_FALSE(history.pod("ns/p"));
    round(30s, true);
    ASSERT_TRUE(history.pod("ns/p"));
    EXPECT_EQ(history.pod("ns/p")->containers.size(), 2u);
    EXPECT_EQ(history.pod("ns/p")->time, at(30s)) << "the earliest";
}

}  // namespace
}  // namespace porthole::apiserver
