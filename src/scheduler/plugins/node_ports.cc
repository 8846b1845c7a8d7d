#include "scheduler/plugins/plugins.h"

namespace porthole::scheduler {

namespace {

/// Two pods that want the same host port never share a node.
class NodePorts final : public Plugin {
public:
    std::string_view name() const override { return "NodePorts"; }

    PreFilter pre_filter(const PodInfo& pod, const Cluster&) override {
        pod_ = &pod;
        return pod.host_ports.empty() ? PreFilter::skip() : PreFilter::run();
    }
    bool filter(const NodeInfo& node, FilterStatus& status) override {
        if (!node.used_ports().conflict(pod_->host_ports)) return true;
        status.reject("node(s) didn't have free ports for the requested pod ports", true);
        return false;
    }
    bool filters_by_node_alone() const override { return true; }
    bool queueing_hint(const ClusterEvent& event, const PodInfo& waiting) const override {
        if (event.kind == ClusterEvent::Kind::PodRemoved) return HostPorts(event.pod->host_ports).conflict(waiting.host_ports);
        return event.kind == ClusterEvent::Kind::NodeAdded;
    }

private:
    const PodInfo* pod_ = nullptr;
};

}  // namespace

std::unique_ptr<Plugin> make_node_ports(const Handle&) { return std::make_unique<NodePorts>(); }

}  // namespace porthole::scheduler
