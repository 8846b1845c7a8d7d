#include <algorithm>
#include <cmath>

#include "scheduler/plugins/plugins.h"
#include "scheduler/plugins/resource_scorer.h"

namespace porthole::scheduler {

namespace {

/// Prefers nodes on which the pod brings the used fractions of their resources closer together; by default of CPU and memory.
class BalancedAllocation final : public Plugin {
public:
    explicit BalancedAllocation(const Handle& handle) {
        using Arguments = api::kubescheduler::v1::NodeResourcesBalancedAllocationArgs;
        for (const auto& resource : arguments_of<Arguments>(handle.profile, name()).resources) resources_.push_back(resource.name);
    }

    std::string_view name() const override { return "NodeResourcesBalancedAllocation"; }
    std::int64_t weight() const override { return 1; }

    bool pre_score(const PodInfo& pod, const Cluster&, std::span<const NodeInfo* const>) override {
        pod_ = &pod;
        if (resources_.empty()) return pod.requests.milli_cpu > 0 || pod.requests.memory > 0;
        return std::ranges::any_of(resources_, [&](const std::string& name) { return requests(pod.requests, name) > 0; });
    }
    bool scores_by_node_alone() const override { return true; }
    std::int64_t score(const NodeInfo& node) override {
        if (!resources_.empty()) return score_of_chosen(node);
        const Resources& total = node.spec().allocatable;
        const Resources& used = node.requested();
        const std::int64_t before = balance(total, used.milli_cpu, used.memory);
        const std::int64_t after = balance(total, used.milli_cpu + pod_->requests.milli_cpu, used.memory + pod_->requests.memory);
        return improvement(before, after);
    }

private:
    static std::int64_t improvement(std::int64_t before, std::int64_t after) { return MaxScore / 2 + (MaxScore / 2 + after - before) / 2; }
    static std::int64_t requests(const Resources& requested, const std::string& name) {
        if (name == "cpu") return requested.milli_cpu;
        if (name == "memory") return requested.memory;
        return name == "ephemeral-storage" ? requested.ephemeral_storage : requested.extended_amount(name);
    }
    std::int64_t score_of_chosen(const NodeInfo& node) {
        before_.clear();
        after_.clear();
        for (const std::string& name : resources_) {
            const ResourceUse use = resource_use(name, node, *pod_, false);
            if (use.total == 0) continue;
            const auto fraction = [&](std::int64_t used) {
                return std::min(1.0, static_cast<double>(used) / static_cast<double>(use.total));
            };
            before_.push_back(fraction(use.present));
            after_.push_back(fraction(use.with_pod));
        }
        return improvement(balance(before_), balance(after_));
    }
    /// 100 less the standard deviation in percent.
    static std::int64_t balance(const std::vector<double>& fractions) {
        double mean = 0, squares = 0;
        for (const double fraction : fractions) mean += fraction / static_cast<double>(fractions.size());
        for (const double fraction : fractions) squares += (fraction - mean) * (fraction - mean);
        const double deviation = fractions.empty() ? 0 : std::sqrt(squares / static_cast<double>(fractions.size()));
        return static_cast<std::int64_t>((1 - deviation) * static_cast<double>(MaxScore));
    }
    /// 100 when both fractions are equal, 50 when one is full and the other empty.
    static std::int64_t balance(const Resources& total, std::int64_t cpu, std::int64_t memory) {
        if (total.milli_cpu == 0 || total.memory == 0) return MaxScore;
        const double cpu_fraction = std::min(1.0, static_cast<double>(cpu) / static_cast<double>(total.milli_cpu));
        const double memory_fraction = std::min(1.0, static_cast<double>(memory) / static_cast<double>(total.memory));
        const double deviation = std::abs(cpu_fraction - memory_fraction) / 2;
        return static_cast<std::int64_t>((1 - deviation) * static_cast<double>(MaxScore));
    }
    std::vector<std::string> resources_;  // none: CPU and memory, for which score() is faster
    std::vector<double> before_, after_;
    const PodInfo* pod_ = nullptr;
};

}  // namespace

std::unique_ptr<Plugin> make_balanced_allocation(const Handle& handle) { return std::make_unique<BalancedAllocation>(handle); }

}  // namespace porthole::scheduler
