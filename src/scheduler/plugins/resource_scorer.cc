#include "scheduler/plugins/resource_scorer.h"

#include <algorithm>
#include <cmath>

#include "scheduler/framework/plugin.h"

namespace porthole::scheduler {

ResourceUse resource_use(const std::string& name, const NodeInfo& node, const PodInfo& pod, bool with_defaults) {
    const Resources &total = node.spec().allocatable, &present = node.requested(), &asked = pod.requests;
    const auto use = [](std::int64_t all, std::int64_t before, std::int64_t request) { return ResourceUse{all, before, before + request}; };
    if (name == "cpu")
        return with_defaults ? use(total.milli_cpu, node.scored_milli_cpu(), pod.scored_milli_cpu)
                             : use(total.milli_cpu, present.milli_cpu, asked.milli_cpu);
    if (name == "memory")
        return with_defaults ? use(total.memory, node.scored_memory(), pod.scored_memory) : use(total.memory, present.memory, asked.memory);
    if (name == "ephemeral-storage") return use(total.ephemeral_storage, present.ephemeral_storage, asked.ephemeral_storage);
    const std::int64_t request = asked.extended_amount(name);
    return request == 0 ? ResourceUse() : use(total.extended_amount(name), present.extended_amount(name), request);
}

ResourceScorer::ResourceScorer(const api::kubescheduler::v1::ScoringStrategy& strategy) {
    if (strategy.type == "MostAllocated") strategy_ = Strategy::MostAllocated;
    if (strategy.type == "RequestedToCapacityRatio") strategy_ = Strategy::RequestedToCapacityRatio;
    for (const auto& resource : strategy.resources) resources_.emplace_back(resource.name, resource.weight == 0 ? 1 : resource.weight);
    if (resources_.empty()) resources_ = {{"cpu", 1}, {"memory", 1}};
    if (!strategy.requested_to_capacity_ratio) return;
    constexpr std::int64_t MaxPointScore = 10;
    for (const auto& point : strategy.requested_to_capacity_ratio->shape)
        curve_.emplace_back(point.utilization, point.score * (MaxScore / MaxPointScore));
}

std::int64_t ResourceScorer::score(const NodeInfo& node, const PodInfo& pod) const {
    std::int64_t sum = 0, weights = 0;
    for (const auto& [name, weight] : resources_) {
        const ResourceUse use = resource_use(name, node, pod, true);
        if (use.total == 0) continue;
        const std::int64_t score = score_of(use);
        // As upstream: on a curve, a resource without a score does not lower that of the others.
        if (strategy_ == Strategy::RequestedToCapacityRatio && score <= 0) continue;
        sum += weight * score;
        weights += weight;
    }
    if (weights == 0) return 0;
    if (strategy_ != Strategy::RequestedToCapacityRatio) return sum / weights;
    return static_cast<std::int64_t>(std::round(static_cast<double>(sum) / static_cast<double>(weights)));
}

std::int64_t ResourceScorer::score_of(const ResourceUse& use) const {
    switch (strategy_) {
        case Strategy::LeastAllocated:
            return use.with_pod > use.total ? 0 : (use.total - use.with_pod) * MaxScore / use.total;
        case Strategy::MostAllocated:
            return std::min(use.with_pod, use.total) * MaxScore / use.total;
        case Strategy::RequestedToCapacityRatio:
            return on_curve(use.with_pod > use.total ? 100 : use.with_pod * 100 / use.total);
    }
    return 0;
}

std::int64_t ResourceScorer::on_curve(std::int64_t utilization) const {
    const auto next = std::ranges::find_if(curve_, [&](const auto& point) { return utilization <= point.first; });
    if (next == curve_.end()) return curve_.back().second;
    if (next == curve_.begin()) return next->second;
    const auto [low, low_score] = *std::prev(next);
    const auto [high, high_score] = *next;
    return low_score + (high_score - low_score) * (utilization - low) / (high - low);
}

}  // namespace porthole::scheduler
