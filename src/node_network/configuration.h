#pragma once
#include <string>
#include <vector>

#include "base/values/ip.h"
#include "cni/flannel/lease.h"

namespace porthole::cni {

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

/// The network configuration list for the CNI plugins bridge, host-local and portmap.
std::string cni_configuration(const NodeNetworkOptions& options, const std::vector<IpPrefix>& pod_prefixes, int mtu);

/// The whole nftables table, replacing one that is there.
std::string masquerade_rules(const NodeNetworkOptions& options, const std::vector<IpPrefix>& pod_prefixes);

}  // namespace porthole::cni
