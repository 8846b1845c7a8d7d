#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/values/ip.h"
#include "proxy/service_table.h"

namespace porthole::proxy::hns {

/// A range of pods on another node of an overlay network, and that node's address.
struct RemoteSubnet {
    IpPrefix prefix;
    IpAddress provider;
    bool operator==(const RemoteSubnet&) const = default;
};

/// The features of HNS, and how the host is connected.
struct HostFacts {
    bool dsr_supported = false, dsr_enabled = false;  ///< enabled: the administrator requested it, for cluster addresses
    bool session_affinity = false;
    std::size_t backend_limit = 1024;  ///< destinations of one load balancer
    bool overlay = false;
    IpAddress node_ip;
    std::string mac;                        ///< of the interface with node_ip
    std::optional<IpAddress> source_vip;    ///< overlay: the source address that backends see
    std::optional<IpAddress> root_address;  ///< of the host's own endpoint, to which health checks are forwarded; absent: not requested
    std::vector<IpPrefix> own_subnets;      ///< of the HNS network
    std::vector<RemoteSubnet> remote_subnets;
    bool operator==(const HostFacts&) const = default;

    /// The node that carries `address` on an overlay; nullopt if unknown.
    std::optional<IpAddress> provider_of(const IpAddress& address) const;
};

/// The wanted state of a load balancer. Backends are identified by address; their HNS ids are not known here.
struct LoadBalancer {
    FrontendKey frontend;  ///< the address 0.0.0.0 or :: means every address of the host
    std::uint16_t internal_port = 0;
    std::vector<IpAddress> backends;  ///< sorted; at most the limit
    std::set<IpAddress> local;        ///< backends on this node
    bool address_endpoint = false;    ///< overlay: an endpoint has to represent the frontend's address
    std::optional<IpAddress> source_vip;
    std::uint32_t flags = 0, mapping_flags = 0, distribution = 0;
    bool operator==(const LoadBalancer&) const = default;

    bool any_host_address() const;
};

/// A remark for users of a service: reason and text of a Warning event.
struct Advice {
    std::string reason, message;
    auto operator<=>(const Advice&) const = default;
};

/// The plan for one frontend.
struct Planned {
    std::optional<LoadBalancer> load_balancer;  ///< none without usable backends
    std::vector<Advice> advice;
};

/// The load balancer for one frontend of `service`. Never fails: what Windows does not support is left out and described in the advice.
///
/// All backends of a load balancer share one port: if they have several, the most frequent one is used. If there are more backends than the
/// host supports, those on the node (`local`) are used first and the others by a ranking of the frontend's own, so that one change does not
/// move the rest, and nodes do not all choose the same.
Planned plan_load_balancer(const FrontendKey& key, const Frontend& frontend, const ServiceInfo& service, const std::set<IpAddress>& local,
                           const HostFacts& host);

/// With HostFacts::root_address: the load balancer by which probes of a cloud's load balancer to the ingress address reach the
/// proxy's health answers. Only for services with a health-check node port; probes of others would conflict with the proxy's own port.
std::optional<LoadBalancer> plan_health_check(const FrontendKey& key, const Frontend& frontend, const ServiceInfo& service,
                                              const HostFacts& host);

/// Removes features that the host does not support from a service, before the table chooses endpoints.
void adapt_service(ServiceInfo& service, const HostFacts& host);
/// Advice about a service as a whole, in the API's form (before adapt_service).
std::vector<Advice> service_advice(const ServiceInfo& service, const HostFacts& host);

}  // namespace porthole::proxy::hns
