#include "scheduler/plugins/plugins.h"

namespace porthole::scheduler {

namespace {

/// A pod that names its node fits nowhere else.
class NodeName final : public Plugin {
public:
    std::string_view name() const override { return "NodeName"; }

    PreFilter pre_filter(const PodInfo& pod, const Cluster&) override {
        pod_ = &pod;
        return pod.node_name.empty() ? PreFilter::skip() : PreFilter::run();
    }
    bool filter(const NodeInfo& node, FilterStatus& status) override {
        if (pod_->node_name == node.name()) return true;
        status.reject("node(s) didn't match the requested node name", false);
        return false;
    }
    bool filters_by_node_alone() const override { return true; }
    bool queueing_hint(const ClusterEvent& event, const PodInfo& waiting) const override {
        return event.kind == ClusterEvent::Kind::NodeAdded && event.node->name == waiting.node_name;
    }

private:
    const PodInfo* pod_ = nullptr;
};

}  // namespace

std::unique_ptr<Plugin> make_node_name(const Handle&) { return std::make_unique<NodeName>(); }

}  // namespace porthole::scheduler
