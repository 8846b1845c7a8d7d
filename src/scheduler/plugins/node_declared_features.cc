#include <algorithm>

#include "scheduler/plugins/plugins.h"

namespace porthole::scheduler {

namespace {

/// Keeps pods off nodes that do not declare what they need (KEP-5328).
class NodeDeclaredFeatures final : public Plugin {
public:
    std::string_view name() const override { return "NodeDeclaredFeatures"; }

    PreFilter pre_filter(const PodInfo& pod, const Cluster&) override {
        pod_ = &pod;
        return pod.needed_features.empty() ? PreFilter::skip() : PreFilter::run();
    }
    bool filter(const NodeInfo& node, FilterStatus& status) override {
        const auto& declared = node.spec().declared_features;
        const bool all = std::ranges::all_of(
            pod_->needed_features, [&](std::string_view needed) { return std::ranges::find(declared, needed) != declared.end(); });
        if (!all) status.reject("node(s) didn't match Pod's required features", false);
        return all;
    }
    bool filters_by_node_alone() const override { return true; }
    bool queueing_hint(const ClusterEvent& event, const PodInfo&) const override {
        return event.about_node() && (!event.old_node || event.old_node->declared_features != event.node->declared_features);
    }

private:
    const PodInfo* pod_ = nullptr;
};

}  // namespace

std::unique_ptr<Plugin> make_node_declared_features(const Handle&) { return std::make_unique<NodeDeclaredFeatures>(); }

}  // namespace porthole::scheduler
