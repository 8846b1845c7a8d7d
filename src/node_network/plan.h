#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/values/ip.h"
#include "cni/flannel/lease.h"
#include "netlink/network_stack.h"
#include "netlink/overlay.h"

namespace porthole::cni {

/// The parts of a Node object that matter to routing; IPv4.
struct NodeRanges {
    std::optional<IpAddress> address;  ///< InternalIP
    std::vector<IpPrefix> pod_prefixes;
    std::optional<flannel::Lease> lease;  ///< the lease that the node publishes in the form of Flannel's daemon
    bool operator==(const NodeRanges&) const = default;
};

/// Options of a Linux node's pod network, and facts about the node.
struct NodeNetworkOptions {
    std::string node_name;
    IpAddress node_address;                  ///< at which other nodes reach this one
    std::vector<IpPrefix> cluster_prefixes;  ///< of all pods
    std::vector<IpPrefix> service_prefixes;
    std::string cni_conf_dir;  ///< where containerd looks for configurations, for example "/etc/cni/net.d"
    std::string ipam_dir;      ///< where host-local keeps its leases
    std::string bridge = "cni0";
    int mtu = 0;             ///< 0: the uplink's
    bool masquerade = true;  ///< traffic from pods to destinations outside the cluster
    std::string nft_table = "porthole-network";
    flannel::Backend backend = flannel::Backend::HostGateway;
    std::uint32_t vni = 4096;  ///< of VXLAN; Windows nodes support only this and UDP port 4789
};

/// All routes that the node must have. Service addresses are the node's own: so a packet of the node itself reaches the proxy's rules, the
/// cluster DNS address can be bound, and packets that no rule handles are answered on the node. Pod ranges without a node are unreachable
/// instead of leaving by the default route; with the back end alloc they do leave, to the router that has the routes.
std::vector<net::Route> wanted_routes(const NodeNetworkOptions& options, const std::map<std::string, NodeRanges>& nodes);

/// VXLAN: this node's device for its range of pods, and the far ends that the routes lead to.
net::OverlayDevice overlay_device(const NodeNetworkOptions& options, const IpPrefix& pod_prefix, int mtu);
std::vector<net::OverlayPeer> wanted_peers(const NodeNetworkOptions& options, const std::map<std::string, NodeRanges>& nodes);

/// The network configuration list for the CNI plugins bridge, host-local and portmap.
std::string cni_configuration(const NodeNetworkOptions& options, const std::vector<IpPrefix>& pod_prefixes, int mtu);

/// The whole nftables table, replacing one that is there.
std::string masquerade_rules(const NodeNetworkOptions& options, const std::vector<IpPrefix>& pod_prefixes);

}  // namespace porthole::cni
