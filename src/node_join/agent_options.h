#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace porthole::node_join {

/// What a node's agent is told; `porthole agent`, `porthole join` and the supervisor share it.
struct AgentOptions {
    std::string data = "/var/lib/porthole-agent";
    std::string kubeconfig;
    std::string node_name;
    std::string node_ip;  ///< "" for the address the API server is reached from
    std::string runtime_endpoint = "/run/containerd/containerd.sock";
    std::string cni_config_folder = "/etc/cni/net.d";
    std::string cluster_cidr = "10.244.0.0/16", service_cidr = "10.96.0.0/12";
    std::string backend = "host-gw";  ///< or "vxlan"
    std::string cluster_dns = "10.96.0.10", cluster_domain = "cluster.local";
    std::string cgroup_root = "/";
    std::string pod_manifests;  ///< folder of static pods; "" for none
    std::uint16_t kubelet_port = 10250;
    int max_pods = 110;
    bool shared_disk = false;  ///< how full the disk is says nothing of this node: it costs no image and no pod
    std::vector<std::string> labels, taints;
};

/// The command line of an agent with these options, from the program's path on.
std::vector<std::string> agent_arguments(const AgentOptions& options);

}  // namespace porthole::node_join
