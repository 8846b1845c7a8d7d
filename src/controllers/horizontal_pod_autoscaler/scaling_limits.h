#pragma once
#include <deque>
#include <optional>
#include <string>

#include "api/autoscaling_v2.h"
#include "runtime/event_loop.h"

namespace porthole::controllers {

/// Why a number of pods was chosen, for a condition.
struct LimitReason {
    std::string reason, message;
};

/// A number of pods within the limits.
struct LimitedReplicas {
    std::int32_t replicas = 0;
    LimitReason able;      ///< of the condition AbleToScale, which is True
    bool limited = false;  ///< the condition ScalingLimited
    LimitReason range;     ///< of the condition ScalingLimited
};

/// How fast the pods of one autoscaler may increase and decrease. Records recent recommendations and changes.
class ScalingLimits {
public:
    using Behavior = api::autoscaling::v2::HorizontalPodAutoscalerBehavior;
    using Rules = api::autoscaling::v2::HPAScalingRules;

    struct Range {
        std::int32_t min = 1, max = 1;
    };
    /// If nothing is recorded yet, the current size counts as recommended, so that a restart of the control plane does not reduce it
    /// immediately.
    void begin(std::int32_t current, MonotonicTime now);
    /// The nearest number to `desired` that is allowed. Without a behavior the number may double, or become 4, at a time, and shrinks to
    /// the highest recommendation of the last five minutes.
    LimitedReplicas limit(const Behavior* behavior, std::int32_t current, std::int32_t desired, Range range, MonotonicTime now);
    /// The number has been changed.
    void note_change(const Behavior* behavior, std::int32_t before, std::int32_t after, MonotonicTime now);

private:
    struct Entry {
        std::int32_t replicas;
        MonotonicTime time;
    };
    LimitedReplicas limit_by_default(std::int32_t current, std::int32_t desired, Range range, MonotonicTime now);
    LimitedReplicas limit_by_behavior(const Behavior& behavior, std::int32_t current, std::int32_t desired, Range range, MonotonicTime now);
    std::int64_t at_start_of_period(std::int32_t current, std::int32_t seconds, MonotonicTime now) const;
    std::int32_t limit_up(const Rules& rules, std::int32_t current, MonotonicTime now) const;
    std::int32_t limit_down(const Rules& rules, std::int32_t current, MonotonicTime now) const;

    std::deque<Entry> recommended_;
    std::deque<Entry> added_, removed_;  ///< pods
};

}  // namespace porthole::controllers
