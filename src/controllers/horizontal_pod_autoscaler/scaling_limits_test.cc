#include "controllers/horizontal_pod_autoscaler/scaling_limits.h"

#include <gtest/gtest.h>

namespace porthole::controllers {
namespace {

using namespace std::chrono_literals;
using Behavior = ScalingLimits::Behavior;
using Rules = ScalingLimits::Rules;

/// An autoscaler whose number of pods follows at once.
struct ScalingLimitsTest : testing::Test {
    /// Changes to what is wanted as far as allowed.
    std::int32_t want(std::int32_t desired, Duration after = 15s) {
        now += after;
        limits.begin(current, now);
        last = limits.limit(behavior ? &*behavior : nullptr, current, desired, range, now);
        if (last.replicas != current) limits.note_change(behavior ? &*behavior : nullptr, current, last.replicas, now);
        return current = last.replicas;
    }
    /// As the API server's defaults leave it.
    void behave(Rules up, Rules down) {
        const auto complete = [](Rules& rules, std::optional<std::int32_t> window,
                                 std::vector<api::autoscaling::v2::HPAScalingPolicy> usual) {
            if (!rules.stabilization_window_seconds) rules.stabilization_window_seconds = window;
            if (!rules.select_policy) rules.select_policy = "Max";
            if (rules.policies.empty()) rules.policies = std::move(usual);
        };
        complete(up, 0, {{"Pods", 4, 15}, {"Percent", 100, 15}});
        complete(down, std::nullopt, {{"Percent", 100, 15}});
        behavior.emplace();
        behavior->scale_up = up;
        behavior->scale_down = down;
    }

    ScalingLimits limits;
    ScalingLimits::Range range{1, 100};
    std::optional<Behavior> behavior;
    std::int32_t current = 1;
    MonotonicTime now{1h};
    LimitedReplicas last;
};

TEST_F(ScalingLimitsTest, GrowsByTwiceOrToFourAtATime) {
    for (const std::int32_t step : {4, 8, 16}) {
        EXPECT_EQ(want(50), step);
        EXPECT_TRUE(last.limited);
        EXPECT_EQ(last.range.reason, "ScaleUpLimit");
    }
    range.max = 20;
    EXPECT_EQ(want(50), 20);
    EXPECT_EQ(last.range.reason, "TooManyReplicas");
    EXPECT_EQ(last.range.message, "the desired replica count is more than the maximum replica count");
}

TEST_F(ScalingLimitsTest, ShrinksToTheHighestOfFiveMinutes) {
    current = 10;
    EXPECT_EQ(want(2), 10) << "what there was counts";
    EXPECT_EQ(last.able.reason, "ScaleDownStabilized");
    EXPECT_FALSE(last.limited);
    EXPECT_EQ(want(6), 10);
    EXPECT_EQ(want(2, 280s), 10);
    EXPECT_EQ(want(2, 10s), 6);
    EXPECT_EQ(want(2), 2);
    EXPECT_EQ(last.able.reason, "ReadyForNewScale");
    EXPECT_EQ(last.able.message, "recommended size matches current size");
}

TEST_F(ScalingLimitsTest, StaysWithinMinAndMax) {
    range = {3, 5};
    current = 3;
    EXPECT_EQ(want(1, 10min), 3);
    EXPECT_FALSE(last.limited) << "it is stabilized at what there is";
    EXPECT_EQ(want(1, 10min), 3);
    EXPECT_TRUE(last.limited);
    EXPECT_EQ(last.range.reason, "TooFewReplicas");
    EXPECT_EQ(want(4), 4);
    EXPECT_EQ(last.range.reason, "DesiredWithinRange");
}

TEST_F(ScalingLimitsTest, DefaultsOfABehaviorGrowByFourOrTwice) {
    behave({}, {});
    for (const std::int32_t step : {5, 10, 20}) EXPECT_EQ(want(50, 16s), step);
    EXPECT_EQ(last.range.reason, "ScaleUpLimit");
    EXPECT_EQ(want(1), 20) << "300 seconds of stabilization by default";
    EXPECT_EQ(want(1, 10min), 1);
}

TEST_F(ScalingLimitsTest, PoliciesLimitTheChangeOfAPeriod) {
    behave({.policies = {{"Pods", 2, 60}}}, {.stabilization_window_seconds = 0, .policies = {{"Pods", 1, 60}}});
    current = 10;
    EXPECT_EQ(want(20), 12);
    EXPECT_EQ(want(20), 12);
    EXPECT_EQ(last.range.reason, "ScaleUpLimit");
    EXPECT_EQ(want(20, 61s), 14);
    EXPECT_EQ(want(5), 11) << "what was added in the period may be taken back, and one more";
    EXPECT_EQ(want(5), 11);
    EXPECT_EQ(last.range.reason, "ScaleDownLimit");
    EXPECT_EQ(last.range.message, "the desired replica count is decreasing faster than the maximum scale rate");
}

TEST_F(ScalingLimitsTest, TheSelectedPolicyDecides) {
    struct {
        const char* name;
        const char* select;
        std::int32_t up, down;
    } const rows[] = {
        {"the larger change", "Max", 20, 5},
        {"the smaller change", "Min", 13, 8},
        {"no change", "Disabled", 10, 10},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        limits = ScalingLimits();
        behave({.select_policy = row.select, .policies = {{"Pods", 3, 60}, {"Percent", 100, 60}}}, {});
        current = 10;
        EXPECT_EQ(want(50), row.up);
        limits = ScalingLimits();
        behave({}, {.stabilization_window_seconds = 0, .select_policy = row.select, .policies = {{"Pods", 2, 60}, {"Percent", 50, 60}}});
        current = 10;
        EXPECT_EQ(want(1), row.down);
    }
}

TEST_F(ScalingLimitsTest, SmallNumbersGrowByPercentToo) {
    behave({.policies = {{"Percent", 10, 15}}}, {});
    EXPECT_EQ(want(50, 16s), 2);
    EXPECT_EQ(want(50, 16s), 3);
}

TEST_F(ScalingLimitsTest, GrowthCanBeStabilized) {
    behave({.stabilization_window_seconds = 60}, {.stabilization_window_seconds = 0});
    current = 5;
    EXPECT_EQ(want(8), 5);
    EXPECT_EQ(last.able.reason, "ScaleUpStabilized");
    EXPECT_EQ(last.able.message, "recent recommendations were lower than current one, applying the lowest recent recommendation");
    EXPECT_EQ(want(9, 61s), 9);
}

TEST_F(ScalingLimitsTest, AWindowOfZeroShrinksAtOnce) {
    behave({}, {.stabilization_window_seconds = 0});
    current = 10;
    EXPECT_EQ(want(1), 1);
}

}  // namespace
}  // namespace porthole::controllers
