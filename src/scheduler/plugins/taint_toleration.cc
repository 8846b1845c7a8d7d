#include <algorithm>

#include "scheduler/plugins/plugins.h"

namespace porthole::scheduler {

namespace {

/// Keeps pods off nodes whose NoSchedule and NoExecute taints they do not tolerate, and prefers nodes without such
/// PreferNoSchedule taints.
class TaintToleration final : public Plugin {
public:
    std::string_view name() const override { return "TaintToleration"; }
    std::int64_t weight() const override { return 3; }

    PreFilter pre_filter(const PodInfo& pod, const Cluster&) override {
        pod_ = &pod;
        return PreFilter::run();
    }
    bool filter(const NodeInfo& node, FilterStatus& status) override {
        if (tolerates_all(*pod_, node.spec())) return true;
        status.reject(UntoleratedTaint, false);
        return false;
    }
    bool filters_by_node_alone() const override { return true; }
    bool pre_score(const PodInfo& pod, const Cluster& cluster, std::span<const NodeInfo* const> nodes) override {
        pod_ = &pod;
        return cluster.any_prefer_no_schedule() &&
               std::ranges::any_of(nodes, [](const NodeInfo* node) { return node->has_prefer_no_schedule(); });
    }
    std::int64_t score(const NodeInfo& node) override {
        if (!node.has_prefer_no_schedule()) return 0;
        return std::ranges::count_if(node.spec().taints, [&](const Taint& taint) {
            return taint.effect == TaintEffect::PreferNoSchedule && !tolerated(taint, pod_->tolerations);
        });
    }
    void normalize(std::span<std::int64_t> scores) override { normalize_to_largest(scores, true); }

    bool queueing_hint(const ClusterEvent& event, const PodInfo& waiting) const override {
        return event.about_node() && tolerates_all(waiting, *event.node) && (!event.old_node || !tolerates_all(waiting, *event.old_node));
    }

private:
    static bool tolerates_all(const PodInfo& pod, const NodeSpec& node) {
        return std::ranges::all_of(node.taints, [&](const Taint& taint) {
            return taint.effect == TaintEffect::PreferNoSchedule || tolerated(taint, pod.tolerations);
        });
    }
    const PodInfo* pod_ = nullptr;
};

}  // namespace

std::unique_ptr<Plugin> make_taint_toleration(const Handle&) { return std::make_unique<TaintToleration>(); }

}  // namespace porthole::scheduler
