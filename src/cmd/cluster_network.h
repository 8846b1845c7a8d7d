#pragma once
#include <map>
#include <string>

#include "base/result.h"

namespace porthole::cmd {

/// What a cluster's network is like, as it tells those who join (the ConfigMap kube-public/cluster-info). A cluster that is not ours
/// says nothing of it; then the usual values stay.
struct ClusterNetwork {
    std::string cluster_cidr = "10.244.0.0/16", service_cidr = "10.96.0.0/12";
    std::string cluster_dns = "10.96.0.10", cluster_domain = "cluster.local";
    std::string backend;  ///< between nodes: "host-gw" or "vxlan"; "" where the cluster does not say
};
ClusterNetwork cluster_network(const std::map<std::string, std::string>& data);

/// Name of the back end in the ConfigMap.
inline constexpr const char* BackendKey = "podNetworkBackend";

/// The back end for a node that joins: what its administrator asked for, else the cluster's, else host-gw.
/// Error: BadRequest where both speak and differ, since all nodes need the same.
Result<std::string> choose_backend(const std::string& asked, const ClusterNetwork& network);

/// The IPv4 range of "10.244.0.0/16" or "fd00::/48,10.244.0.0/16". Error: BadRequest for a cluster of IPv6 alone, which a Windows node
/// cannot join, and for what is no range.
Result<std::string> range_for_windows(const std::string& ranges);

}  // namespace porthole::cmd
