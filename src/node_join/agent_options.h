#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace porthole::node_join {

/// Options of a node's agent; shared by `porthole agent`, `porthole join` and the supervisor.
struct AgentOptions {
    std::string data = "/var/lib/porthole-agent";
    std::string kubeconfig;
    std::string node_name;
    std::string node_ip;  ///< "" for the address the API server is reached from
    std::string runtime_endpoint = "/run/containerd/containerd.sock";
    std::string cni_config_folder = "/etc/cni/net.d";
    std::string cluster_cidr = "10.244.0.0/16", service_cidr = "10.96.0.0/12";
    std::string backend = "host-gw";  ///< or "vxlan", or "alloc": a router has the routes
    std::string cluster_dns = "10.96.0.10", cluster_domain = "cluster.local";
    std::string cgroup_root = "/";
    std::string pod_manifests;  ///< directory of static pods; "" for none
    std::uint16_t kubelet_port = 10250;
    int max_pods = 110;
    std::int64_t pod_max_pids = -1;        ///< processes and threads of one pod; -1 for no limit
    bool seccomp_default = false;          ///< the runtime's profile for containers that name none
    bool protect_kernel_defaults = false;  ///< refuse to run if the kernel's settings are not Kubernetes' defaults
    std::string streaming_idle_timeout = "4h0m0s", tls_min_version;
    std::vector<std::string> tls_cipher_suites;
    bool shared_disk = false;  ///< the disk has other users: do not remove images or evict pods because it is full
    std::vector<std::string> labels, taints;
};

/// The command line of an agent with these options, from the program's path on.
std::vector<std::string> agent_arguments(const AgentOptions& options);

}  // namespace porthole::node_join
