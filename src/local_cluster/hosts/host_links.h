#pragma once
#include <set>
#include <string>
#include <vector>

#include "local_cluster/state/cluster.h"
#include "runtime/processes/process.h"

namespace porthole::local_cluster {

/// The network between the hosts of a cluster on one machine: a switch in its own network namespace, with a port for this machine and one
/// for every further node, which is a network namespace too.
///
///     machine: ph1a2b3c 10.89.0.1/24 ──── machine ──┬── switch (namespace porthole-1a2b3c-switch)
///                                       ph1a2b3cn2 ─┤─ eth0 10.89.0.2  (namespace porthole-1a2b3c-linux-2)
///                                       ph1a2b3cn3 ─┘─ eth0 10.89.0.3  (namespace porthole-1a2b3c-linux-3)
///
/// With the back end "alloc" there is also a router, in its own namespace: the hosts send it packets for pods, and it has the routes.
///
///                                           router ─┤─ eth0 10.89.0.254  (namespace porthole-1a2b3c-router)
///
/// If the bridge were in the machine's own namespace, its traffic would also pass the machine's rules (br_netfilter): a firewall's, and the
/// service proxy's, after which the bridge sends nothing back through the port it came from. References outlive it and its tasks. Errors:
/// Io.
class HostLinks {
public:
    HostLinks(ProcessRunner& processes, const DataDir& data, const Cluster& cluster);

    /// Creates what is missing; no effect if it is complete.
    Task<> ensure();
    /// Gives the router the route to the pods of one node. Requires a router.
    Task<> route_pods(NodeHost node, IpPrefix pod_range);
    /// Removes one host's part, whatever its state.
    Task<> remove_host(NodeHost node);
    /// Removes all of it, whatever its state.
    Task<> remove();

private:
    /// Of the names of our links.
    std::string prefix() const { return "ph" + data_.id(); }
    std::string port_of(const NodeHost& node) const;
    Task<> ensure_namespaces();
    Task<> ensure_switch();
    Task<> ensure_router();
    Task<> ensure_ports();
    Task<> ensure_addresses();
    /// Runs lines of `ip -batch` in the namespace ("" for the machine's); stops at the first that fails unless `force`.
    Task<> ip_batch(std::string network_namespace, std::string lines, bool force = false);
    /// The output of `ip -brief WHAT` there.
    Task<std::string> show(std::string network_namespace, std::vector<std::string> what);
    Task<std::set<std::string>> links_in(std::string network_namespace);

    ProcessRunner& processes_;
    const DataDir& data_;
    const Cluster& cluster_;
    bool own_switch_;
    std::string router_, router_namespace_;             ///< its address; both "" if there is none
    std::string bridge_ = "switch", switch_namespace_;  ///< where the nodes' ports are; "" for the machine's namespace
};

}  // namespace porthole::local_cluster
