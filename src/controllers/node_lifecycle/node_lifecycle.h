#pragma once
#include <map>
#include <string>

#include "api/coordination_v1.h"
#include "controllers/framework/context.h"
#include "controllers/node_lifecycle/health.h"
#include "controllers/node_lifecycle/taints.h"
#include "controllers/node_lifecycle/zones.h"

namespace porthole::controllers {

/// Keeps nodes' NoSchedule taints and derived labels consistent with the state that they report. Checks all nodes every
/// `node_monitor_period`: those that send no heartbeat become Unknown, their pods not ready, and, at a limited rate, they get the NoExecute
/// taint by which pods are evicted. If no node at all is ready, the cause is assumed to be elsewhere and no pod is evicted.
class NodeLifecycleController final : public client::Controller {
public:
    static constexpr const char* Account = "node-controller";
    explicit NodeLifecycleController(Context& context);
    /// Those whose nodes would be evicted one after the other.
    std::size_t zones() const { return queues_.size(); }

private:
    using Node = api::core::v1::Node;
    using Pod = api::core::v1::Pod;
    struct Watched {
        std::string ready;  ///< status at the last check
        bool has_pods_to_mark = false;
        std::string zone;
    };

    Task<client::Requeue> reconcile(client::NamespacedName key) override;
    Task<> background() override;

    /// Conflict if the node has changed since it was read.
    Task<> write_taints(const Node& node, Taints taints);
    Task<> write_labels(const Node& node);

    // One check of all nodes.
    Task<> inspect_all();
    Task<> inspect(const Node& node);
    /// The node with its conditions Unknown, as stored.
    Task<Node> declare_silent(const Node& node);
    Task<> mark_pods_not_ready(std::string node);
    Task<> mark_not_ready(std::shared_ptr<const Pod> pod);

    // Evictions.
    void assess_zones();
    Task<> plan_eviction(const Node& node);
    Task<> evict_due();
    /// Until the next eviction may begin, at most `most`.
    Duration next_eviction(Duration most) const;

    const controllers::Settings settings_;
    client::Client& client_;
    client::EventRecorder& events_;
    client::Informer<Node>& nodes_;
    client::Informer<Pod>& pods_;
    client::Informer<api::coordination::v1::Lease>& leases_;
    PodIndex pods_by_node_;
    Heartbeats heartbeats_;
    std::map<std::string, Watched> watched_;       ///< by node
    std::map<std::string, EvictionQueue> queues_;  ///< by zone
    bool all_disrupted_ = false;
};

}  // namespace porthole::controllers
