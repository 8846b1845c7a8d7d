#include "controllers/horizontal_pod_autoscaler/scaling_limits.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace porthole::controllers {
namespace {

using api::autoscaling::v2::HPAScalingPolicy;

constexpr std::int32_t MostReplicas = std::numeric_limits<std::int32_t>::max();
constexpr std::int32_t DownscaleStabilization = 300;  ///< seconds; kube-controller-manager's default
constexpr std::int32_t ScaleUpFactor = 2, ScaleUpMinimum = 4;

Duration seconds(std::int32_t count) { return std::chrono::seconds(count); }

std::int32_t clamped_replicas(double pods) {
    return static_cast<std::int32_t>(std::clamp(pods, -static_cast<double>(MostReplicas), static_cast<double>(MostReplicas)));
}

LimitReason down_stabilized() {
    return {"ScaleDownStabilized", "recent recommendations were higher than current one, applying the highest recent recommendation"};
}
LimitReason up_stabilized() {
    return {"ScaleUpStabilized", "recent recommendations were lower than current one, applying the lowest recent recommendation"};
}
LimitReason not_stabilized() { return {"ReadyForNewScale", "recommended size matches current size"}; }
LimitReason within_range() { return {"DesiredWithinRange", "the desired count is within the acceptable range"}; }
LimitReason too_many() { return {"TooManyReplicas", "the desired replica count is more than the maximum replica count"}; }
LimitReason too_few() { return {"TooFewReplicas", "the desired replica count is less than the minimum replica count"}; }
LimitReason up_too_fast() { return {"ScaleUpLimit", "the desired replica count is increasing faster than the maximum scale rate"}; }
LimitReason down_too_fast() { return {"ScaleDownLimit", "the desired replica count is decreasing faster than the maximum scale rate"}; }

std::int32_t longest_period(const ScalingLimits::Rules& rules) {
    std::int32_t longest = 0;
    for (const HPAScalingPolicy& policy : rules.policies) longest = std::max(longest, policy.period_seconds);
    return longest;
}

}  // namespace

void ScalingLimits::begin(std::int32_t current, MonotonicTime now) {
    if (recommended_.empty()) recommended_.push_back({current, now});
}

LimitedReplicas ScalingLimits::limit(const Behavior* behavior, std::int32_t current, std::int32_t desired, Range range, MonotonicTime now) {
    const bool complete = behavior && behavior->scale_up && behavior->scale_down;  // as the API server's defaults make it
    return complete ? limit_by_behavior(*behavior, current, desired, range, now) : limit_by_default(current, desired, range, now);
}

LimitedReplicas ScalingLimits::limit_by_default(std::int32_t current, std::int32_t desired, Range range, MonotonicTime now) {
    std::erase_if(recommended_, [&](const Entry& entry) { return entry.time < now - seconds(DownscaleStabilization); });
    std::int32_t stabilized = desired;
    for (const Entry& entry : recommended_) stabilized = std::max(stabilized, entry.replicas);
    recommended_.push_back({desired, now});

    LimitedReplicas result{
        .replicas = stabilized, .able = stabilized == desired ? not_stabilized() : down_stabilized(), .range = within_range()};
    const std::int32_t fastest = std::max(current > MostReplicas / ScaleUpFactor ? MostReplicas : current * ScaleUpFactor, ScaleUpMinimum);
    const std::int32_t most = std::min(range.max, fastest);
    if (stabilized < range.min) {
        result.replicas = range.min;
        result.range = too_few();
    } else if (stabilized > most) {
        result.replicas = most;
        result.range = range.max > fastest ? up_too_fast() : too_many();
    }
    result.limited = result.replicas != stabilized;
    return result;
}

LimitedReplicas ScalingLimits::limit_by_behavior(const Behavior& behavior, std::int32_t current, std::int32_t desired, Range range,
                                                 MonotonicTime now) {
    const MonotonicTime up_since = now - seconds(behavior.scale_up->stabilization_window_seconds.value_or(0));
    const MonotonicTime down_since = now - seconds(behavior.scale_down->stabilization_window_seconds.value_or(DownscaleStabilization));
    std::erase_if(recommended_, [&](const Entry& entry) { return entry.time < up_since && entry.time < down_since; });
    std::int32_t lowest = desired, highest = desired;
    for (const Entry& entry : recommended_) {
        if (entry.time > up_since) lowest = std::min(lowest, entry.replicas);
        if (entry.time > down_since) highest = std::max(highest, entry.replicas);
    }
    recommended_.push_back({desired, now});

    const std::int32_t stabilized = std::min(std::max(current, lowest), highest);
    LimitedReplicas result{.replicas = stabilized, .range = within_range()};
    result.able = stabilized == desired ? not_stabilized() : desired >= current ? up_stabilized() : down_stabilized();
    if (stabilized > current) {
        const std::int32_t fastest = std::max(current, limit_up(*behavior.scale_up, current, now));
        const std::int32_t most = std::min(range.max, fastest);
        if (stabilized > most) result = {most, result.able, true, range.max > fastest ? up_too_fast() : too_many()};
    } else if (stabilized < current) {
        const std::int32_t fastest = std::min(current, limit_down(*behavior.scale_down, current, now));
        const std::int32_t least = std::max(range.min, fastest);
        if (stabilized < least) result = {least, result.able, true, range.min < fastest ? down_too_fast() : too_few()};
    }
    return result;
}

std::int64_t ScalingLimits::at_start_of_period(std::int32_t current, std::int32_t period, MonotonicTime now) const {
    std::int64_t replicas = current;
    for (const Entry& entry : added_)
        if (entry.time > now - seconds(period)) replicas -= entry.replicas;
    for (const Entry& entry : removed_)
        if (entry.time > now - seconds(period)) replicas += entry.replicas;
    return replicas;
}

std::int32_t ScalingLimits::limit_up(const Rules& rules, std::int32_t current, MonotonicTime now) const {
    if (rules.select_policy == "Disabled") return current;
    const bool smallest = rules.select_policy == "Min";
    std::int32_t limit = smallest ? MostReplicas : -MostReplicas;
    for (const HPAScalingPolicy& policy : rules.policies) {
        const auto start = static_cast<double>(at_start_of_period(current, policy.period_seconds, now));
        // Rounded up, or a small number would never grow.
        const double wanted =
            policy.type == "Pods" ? start + policy.value : std::ceil(start * (1 + static_cast<double>(policy.value) / 100));
        limit = smallest ? std::min(limit, clamped_replicas(wanted)) : std::max(limit, clamped_replicas(wanted));
    }
    return limit;
}

std::int32_t ScalingLimits::limit_down(const Rules& rules, std::int32_t current, MonotonicTime now) const {
    if (rules.select_policy == "Disabled") return current;
    const bool smallest = rules.select_policy == "Min";
    std::int32_t limit = smallest ? -MostReplicas : MostReplicas;
    for (const HPAScalingPolicy& policy : rules.policies) {
        const auto start = static_cast<double>(at_start_of_period(current, policy.period_seconds, now));
        const double wanted = policy.type == "Pods" ? start - policy.value : start * (1 - static_cast<double>(policy.value) / 100);
        limit = smallest ? std::max(limit, clamped_replicas(wanted)) : std::min(limit, clamped_replicas(wanted));
    }
    return limit;
}

void ScalingLimits::note_change(const Behavior* behavior, std::int32_t before, std::int32_t after, MonotonicTime now) {
    if (!behavior || !behavior->scale_up || !behavior->scale_down) return;  // nothing looks at it
    const std::int32_t period = std::max(longest_period(*behavior->scale_up), longest_period(*behavior->scale_down));
    for (std::deque<Entry>* entries : {&added_, &removed_})
        std::erase_if(*entries, [&](const Entry& entry) { return entry.time < now - seconds(period); });
    if (after > before) added_.push_back({after - before, now});
    if (after < before) removed_.push_back({before - after, now});
}

}  // namespace porthole::controllers
