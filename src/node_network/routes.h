#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/values/ip.h"
#include "cni/flannel/lease.h"
#include "netlink/network_stack.h"
#include "netlink/overlay.h"
#include "node_network/configuration.h"

namespace porthole::cni {

/// The parts of a Node object that matter to routing; IPv4.
struct NodeRanges {
    std::optional<IpAddress> address;  ///< InternalIP
    std::vector<IpPrefix> pod_prefixes;
    std::optional<flannel::Lease> lease;  ///< the lease that the node publishes in the form of Flannel's daemon
    bool operator==(const NodeRanges&) const = default;
};

/// All routes that the node must have. Service addresses are the node's own: so a packet of the node itself reaches the proxy's rules, the
/// cluster DNS address can be bound, and packets that no rule handles are answered on the node. Pod ranges without a node are unreachable
/// instead of leaving by the default route; with the back end alloc they do leave, to the router that has the routes.
std::vector<net::Route> wanted_routes(const NodeNetworkOptions& options, const std::map<std::string, NodeRanges>& nodes);

/// VXLAN: this node's device for its range of pods, and the far ends that the routes lead to.
net::OverlayDevice overlay_device(const NodeNetworkOptions& options, const IpPrefix& pod_prefix, int mtu);
std::vector<net::OverlayPeer> wanted_peers(const NodeNetworkOptions& options, const std::map<std::string, NodeRanges>& nodes);

}  // namespace porthole::cni
