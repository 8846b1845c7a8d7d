#include "scheduler/plugins/plugins.h"

namespace porthole::scheduler {

namespace {

/// Keeps pods off cordoned nodes, unless they tolerate the cordon's taint.
class NodeUnschedulable final : public Plugin {
public:
    std::string_view name() const override { return "NodeUnschedulable"; }

    PreFilter pre_filter(const PodInfo& pod, const Cluster&) override {
        return tolerates_cordon(pod) ? PreFilter::skip() : PreFilter::run();
    }
    bool filter(const NodeInfo& node, FilterStatus& status) override {
        if (!node.spec().unschedulable) return true;
        status.reject("node(s) were unschedulable", false);
        return false;
    }
    bool filters_by_node_alone() const override { return true; }
    bool queueing_hint(const ClusterEvent& event, const PodInfo& waiting) const override {
        if (!event.about_node()) return false;
        return !event.node->unschedulable && (!event.old_node || event.old_node->unschedulable);
    }

private:
    static bool tolerates_cordon(const PodInfo& pod) {
        static const Taint cordon{"node.kubernetes.io/unschedulable", "", TaintEffect::NoSchedule};
        return tolerated(cordon, pod.tolerations);
    }
};

}  // namespace

std::unique_ptr<Plugin> make_node_unschedulable(const Handle&) { return std::make_unique<NodeUnschedulable>(); }

}  // namespace porthole::scheduler
