#pragma once
#include <memory>

#include "fleet/fleet_nodes.h"
#include "fleet/fleet_pods.h"

namespace porthole::fleet {

/// Nodes and their pods, played by one process. Lives on one loop.
class Fleet {
public:
    Fleet(client::InformerContext context, FleetPlan plan, HeartbeatOptions heartbeat, std::unique_ptr<PodModel> model);

    /// Ends when all nodes are registered; errors as FleetNodes::register_all().
    Task<> start() { return nodes_.register_all(); }
    /// Heartbeats and pods, until cancelled.
    Task<> run();
    Task<> remove_nodes() { return nodes_.remove_all(); }

    const FleetPlan& plan() const { return plan_; }
    const PodCounts& pods() const { return pods_.counts(); }
    std::size_t missed_heartbeats() const { return nodes_.missed_heartbeats(); }

private:
    FleetPlan plan_;
    std::unique_ptr<PodModel> model_;
    FleetNodes nodes_;
    FleetPods pods_;
};

}  // namespace porthole::fleet
