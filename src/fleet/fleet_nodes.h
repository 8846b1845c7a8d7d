#pragma once
#include <set>
#include <string>
#include <vector>

#include "base/log.h"
#include "client/client.h"
#include "client/informers/informer_core.h"
#include "fleet/fleet_plan.h"

namespace porthole::fleet {

/// How the nodes of a fleet show that they live.
struct HeartbeatOptions {
    Duration lease_period = std::chrono::seconds(10);  ///< between two renewals of a node's lease
    Duration status_period = std::chrono::minutes(5);  ///< between two reports of a status that has not changed
    std::size_t in_flight = 32;                        ///< requests at a time
};

/// The nodes of a fleet in the API, maintained as their kubelets would: registered, their leases renewed at evenly distributed times, their
/// status reported every five minutes and when the cluster considers them lost; a deleted node registers again. One watch follows all of
/// them. Keeps some hundred bytes per node. Lives on one loop.
class FleetNodes {
public:
    FleetNodes(client::InformerContext context, const FleetPlan& plan, HeartbeatOptions options);

    /// Ends when all nodes are registered. Waits for a server that is not available. Errors: AlreadyExists for a node of that name that is
    /// not of this fleet; other refusals of the server.
    Task<> register_all();
    /// Heartbeats, until cancelled. Call after register_all().
    Task<> run();
    /// Deletes all nodes, if they exist.
    Task<> remove_all();

    /// Ends when the pod ranges of existing nodes are known.
    Task<> wait_for_sync() { return informer_.wait_for_sync(); }

    /// A free address of the node's podCIDR; nullopt if it has no range yet, or all are in use.
    std::optional<std::string> take_address(std::size_t node);
    /// Marks the address of a pod that was found running as used.
    void keep_address(std::size_t node, const std::string& address);
    void release_address(std::size_t node, const std::string& address);

    /// Heartbeats that were skipped because the previous one had not been answered.
    std::size_t missed_heartbeats() const { return missed_; }

private:
    struct Node {
        std::string uid;
        std::string lease_version;  ///< resourceVersion of the last write of the lease; "" if unknown
        IpPrefix pod_cidr;
        std::set<std::uint32_t> taken;  ///< distances from the base of `pod_cidr`
        std::uint32_t next = 0;         ///< where to search for a free one
        bool has_cidr = false, registered = false, reports_now = false, queued = false;
        MonotonicTime reported{};
    };
    struct Seen;
    static Result<client::InformerCodec::Decoded> decode(std::string_view json);

    Task<> register_some(std::size_t& next);
    Task<> register_node(std::size_t number);
    Task<> follow();
    Task<> pace();
    Task<> work();
    Task<> beat(std::size_t number);
    Task<> renew(std::size_t number);
    Task<> report(std::size_t number);
    Task<> remove_some(std::size_t& next);
    void observe(const Seen& seen);
    std::optional<std::uint32_t> distance(const Node& node, const std::string& address) const;

    client::InformerContext context_;
    const FleetPlan& plan_;
    HeartbeatOptions options_;
    std::vector<Node> nodes_;
    client::InformerCore informer_;
    Channel<std::size_t> due_;
    std::size_t missed_ = 0, told_missed_ = 0;
};

}  // namespace porthole::fleet
