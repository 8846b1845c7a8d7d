#pragma once
#include <map>
#include <string>

#include "runtime/task.h"

namespace porthole::client {
class Client;
}

namespace porthole::node_join {

/// What a cluster's network is like, as it publishes it for those who join (the ConfigMap kube-public/cluster-info). A foreign cluster
/// says nothing of it there; then the usual values stay until kubeadm's configuration or the user says more.
struct ClusterNetwork {
    std::string cluster_cidr = "10.244.0.0/16", service_cidr = "10.96.0.0/12";
    std::string cluster_dns = "10.96.0.10", cluster_domain = "cluster.local";
    std::string backend;  ///< between nodes: "host-gw", "vxlan" or "alloc"; "" where the cluster does not say
    bool known = false;   ///< the cluster has said what its ranges are
};
/// Entries for NO_PROXY: the machine itself, pods, services and their names, which are never reached through a proxy.
std::vector<std::string> proxy_exceptions(const std::string& cluster_cidr, const std::string& service_cidr,
                                          const std::string& cluster_domain);
ClusterNetwork cluster_network(const std::map<std::string, std::string>& data);

/// Takes the network settings from kubeadm's ClusterConfiguration (YAML). The DNS service gets the tenth address of the services. Settings
/// that the configuration does not have are not changed. Error: BadRequest if the text is not a ClusterConfiguration.
Result<void> learn_from_kubeadm(const std::string& cluster_configuration, ClusterNetwork& network);
/// The same from the ConfigMap kube-system/kubeadm-config, which kubeadm lets nodes read. Yields `network` unchanged where there is none:
/// the cluster was not made by kubeadm. `client` must be a node's.
Task<ClusterNetwork> ask_kubeadm(client::Client& client, ClusterNetwork network);

/// The user's own words for what a cluster does not say, or says wrongly; "" leaves it as it is. A service range brings its tenth
/// address as that of the DNS service, unless that is given too. Error: BadRequest.
struct NetworkWishes {
    std::string cluster_cidr, service_cidr, cluster_dns, cluster_domain;
    bool operator==(const NetworkWishes&) const = default;
};
Result<void> apply_wishes(const NetworkWishes& wishes, ClusterNetwork& network);

/// Name of the back end in the ConfigMap.
inline constexpr const char* BackendKey = "podNetworkBackend";

/// The back end for a node that joins: what its administrator asked for, else the cluster's, else host-gw.
/// Error: BadRequest where both speak and differ, since all nodes need the same.
Result<std::string> choose_backend(const std::string& asked, const ClusterNetwork& network);

/// The IPv4 range of "10.244.0.0/16" or "fd00::/48,10.244.0.0/16". Error: BadRequest for a cluster of IPv6 alone, which a Windows node
/// cannot join, and for what is not a range.
Result<std::string> range_for_windows(const std::string& ranges);

}  // namespace porthole::node_join
