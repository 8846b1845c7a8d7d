#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "winservice/service_manager.h"

namespace porthole::node_join {

/// How the programs of a Windows node are set up; `join` computes it from its flags and from what the cluster publishes.
struct WindowsNode {
    std::string folder = "C:\\k";  ///< programs, configuration and credentials
    std::string log_folder = "C:\\k\\logs";
    std::string name, ip;
    std::string runtime_endpoint = "npipe:////./pipe/containerd-containerd";
    std::string network_mode = "l2bridge";  ///< or "overlay"
    bool router_has_routes = false;         ///< to the pods of other nodes; the node then adds none itself
    std::string cluster_cidr = "10.244.0.0/16", service_cidr = "10.96.0.0/12";
    std::string cluster_dns = "10.96.0.10", cluster_domain = "cluster.local";
    std::string priority_class = "ABOVE_NORMAL_PRIORITY_CLASS";
    std::string system_reserved = "memory=2Gi";  ///< reserved from pods by the scheduler, as the kubelet's flag
    std::vector<std::string> labels, taints;
    bool shared_disk = false;     ///< as AgentOptions::shared_disk
    std::string proxy, no_proxy;  ///< for the services' own requests; "" for none

    bool csi_proxy = true;  ///< false if another program serves its pipes

    bool direct_server_return = false;  ///< of the proxy; without it each service port uses 64 ports of the host

    std::string adapter;  ///< the physical one of the pod network: "Ethernet"; "" leaves the choice to the host network service

    bool is_overlay() const { return network_mode == "overlay"; }
    std::string network_name() const { return is_overlay() ? "vxlan0" : "cbr0"; }
    std::string kubeconfig() const { return folder + "\\config"; }
    std::string credentials() const { return folder + "\\pki"; }
    std::string cni_folder() const { return folder + "\\cni"; }
    std::string cni_config() const { return cni_folder() + "\\config\\10-porthole.conf"; }
};

/// Error: BadRequest, one line, for a name, mode or range that cannot be one.
Result<void> check_node(const WindowsNode& node);

/// The node's services in the order in which they start: the pod network exists before the kubelet starts. `runtime_service` is the service
/// of the container runtime, "" if it is not a service. Each waits by itself for what it needs of the others; only the proxy depends on the
/// kubelet's service.
std::vector<winservice::ServiceDefinition> node_services(const WindowsNode& node, const std::string& runtime_service);
inline constexpr const char* ContainerdService = "containerd";
inline constexpr const char* CsiProxyService = "csi-proxy";
inline constexpr const char* NodeServices[] = {"flanneld", "kubelet", "kube-proxy", CsiProxyService};
/// Whether a service that starts this program is the node's own: the program is below `node.folder`.
bool is_program_of(const WindowsNode& node, std::string_view program);

/// The same services as command lines for cmd.exe, to register them by other means: with Windows' own sc.exe, or with the wrapper nssm,
/// under which the programs run as on a console.
std::vector<std::string> sc_commands(std::span<const winservice::ServiceDefinition> services);
std::vector<std::string> nssm_commands(const WindowsNode& node, std::span<const winservice::ServiceDefinition> services);

/// A port of this machine that other machines must reach.
struct FirewallRule {
    std::string name, protocol;
    std::uint16_t port = 0;
    bool operator==(const FirewallRule&) const = default;
};
std::vector<FirewallRule> firewall_rules(const WindowsNode& node);
/// Every rule that a node may have, for leaving.
std::vector<std::string> firewall_rule_names();

}  // namespace porthole::node_join
