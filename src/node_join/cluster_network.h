#pragma once
#include <map>
#include <string>

#include "runtime/task.h"

namespace porthole::client {
class Client;
}

namespace porthole::node_join {

/// A cluster's network settings, as published for joining nodes (the ConfigMap kube-public/cluster-info). A foreign cluster does not
/// publish them there; then defaults apply until kubeadm's configuration or the user overrides them.
struct ClusterNetwork {
    std::string cluster_cidr = "10.244.0.0/16", service_cidr = "10.96.0.0/12";
    std::string cluster_dns = "10.96.0.10", cluster_domain = "cluster.local";
    std::string backend;  ///< between nodes: "host-gw", "vxlan" or "alloc"; "" if the cluster does not publish it
    bool known = false;   ///< the cluster has published its ranges
};
/// Entries for NO_PROXY: the machine itself, pods, services and their names, which are never reached through a proxy.
std::vector<std::string> proxy_exceptions(const std::string& cluster_cidr, const std::string& service_cidr,
                                          const std::string& cluster_domain);
ClusterNetwork cluster_network(const std::map<std::string, std::string>& data);

/// Takes the network settings from kubeadm's ClusterConfiguration (YAML). The DNS service gets the tenth address of the services. Absent
/// settings are not changed. Error: BadRequest if the text is not a ClusterConfiguration.
Result<void> learn_from_kubeadm(const std::string& cluster_configuration, ClusterNetwork& network);
/// The same from the ConfigMap kube-system/kubeadm-config, which kubeadm lets nodes read. Returns `network` unchanged if there is none: the
/// cluster was not created by kubeadm. `client` must be a node's.
Task<ClusterNetwork> ask_kubeadm(client::Client& client, ClusterNetwork network);

/// The user's settings, for those that a cluster does not publish, or publishes wrongly; "" leaves them unchanged. With a service range,
/// the DNS service gets its tenth address, unless that is given too. Error: BadRequest.
struct NetworkWishes {
    std::string cluster_cidr, service_cidr, cluster_dns, cluster_domain;
    bool operator==(const NetworkWishes&) const = default;
};
Result<void> apply_wishes(const NetworkWishes& wishes, ClusterNetwork& network);

/// Name of the back end in the ConfigMap.
inline constexpr const char* BackendKey = "podNetworkBackend";

/// The back end for a joining node: the one requested by its administrator, otherwise the cluster's, otherwise host-gw. Error: BadRequest
/// if both exist and differ, since all nodes need the same.
Result<std::string> choose_backend(const std::string& asked, const ClusterNetwork& network);

/// The IPv4 range of "10.244.0.0/16" or "fd00::/48,10.244.0.0/16". Error: BadRequest for an IPv6-only cluster, which a Windows node cannot
/// join, and for an invalid range.
Result<std::string> range_for_windows(const std::string& ranges);

}  // namespace porthole::node_join
