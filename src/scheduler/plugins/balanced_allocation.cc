#include <algorithm>
#include <cmath>

#include "scheduler/plugins/plugins.h"

namespace porthole::scheduler {

namespace {

/// Prefers nodes on which the pod brings the used fractions of CPU and memory closer together.
class BalancedAllocation final : public Plugin {
public:
    std::string_view name() const override { return "NodeResourcesBalancedAllocation"; }
    std::int64_t weight() const override { return 1; }

    bool pre_score(const PodInfo& pod, const Cluster&, std::span<const NodeInfo* const>) override {
        pod_ = &pod;
        return pod.requests.milli_cpu > 0 || pod.requests.memory > 0;
    }
    bool scores_by_node_alone() const override { return true; }
    std::int64_t score(const NodeInfo& node) override {
        const Resources& total = node.spec().allocatable;
        const Resources& used = node.requested();
        const std::int64_t before = balance(total, used.milli_cpu, used.memory);
        const std::int64_t after = balance(total, used.milli_cpu + pod_->requests.milli_cpu, used.memory + pod_->requests.memory);
        return MaxScore / 2 + (MaxScore / 2 + after - before) / 2;
    }

private:
    /// 100 when both fractions are equal, 50 when one is full and the other empty.
    static std::int64_t balance(const Resources& total, std::int64_t cpu, std::int64_t memory) {
        if (total.milli_cpu == 0 || total.memory == 0) return MaxScore;
        const double cpu_fraction = std::min(1.0, static_cast<double>(cpu) / static_cast<double>(total.milli_cpu));
        const double memory_fraction = std::min(1.0, static_cast<double>(memory) / static_cast<double>(total.memory));
        const double deviation = std::abs(cpu_fraction - memory_fraction) / 2;
        return static_cast<std::int64_t>((1 - deviation) * static_cast<double>(MaxScore));
    }
    const PodInfo* pod_ = nullptr;
};

}  // namespace

std::unique_ptr<Plugin> make_balanced_allocation(const Handle&) { return std::make_unique<BalancedAllocation>(); }

}  // namespace porthole::scheduler
