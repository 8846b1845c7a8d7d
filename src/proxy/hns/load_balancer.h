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

/// What the host network service can do, and how the host is connected.
struct HostFacts {
    bool dsr_supported = false, dsr_enabled = false;  ///< enabled: asked for by the administrator, for cluster addresses
    bool session_affinity = false;
    std::size_t backend_limit = 1024;  ///< destinations of one load balancer
    bool overlay = false;
    IpAddress node_ip;
    std::string mac;                        ///< of the interface with node_ip
    std::optional<IpAddress> source_vip;    ///< overlay: the source address that backends see
    std::optional<IpAddress> root_address;  ///< of the host's own endpoint, to which health checks are forwarded; absent: not asked for
    std::vector<IpPrefix> own_subnets;      ///< of the HNS network
    std::vector<RemoteSubnet> remote_subnets;
    bool operator==(const HostFacts&) const = default;

    /// Of the node that carries `address` on an overlay; nothing if none is known to.
    std::optional<IpAddress> provider_of(const IpAddress& address) const;
};

/// A load balancer as it is wanted. Backends are named by address; how HNS calls them is not known here.
struct LoadBalancer {
    FrontendKey frontend;  ///< the address 0.0.0.0 or :: means every address of the host
    std::uint16_t internal_port = 0;
    std::vector<IpAddress> backends;  ///< sorted; at most the limit
    std::set<IpAddress> local;        ///< those of them on this node
    bool address_endpoint = false;    ///< overlay: an endpoint has to represent the frontend's address
    std::optional<IpAddress> source_vip;
    std::uint32_t flags = 0, mapping_flags = 0, distribution = 0;
    bool operator==(const LoadBalancer&) const = default;

    bool any_host_address() const;
};

/// Something that users should know about a service: reason and text of a Warning event.
struct Advice {
    std::string reason, message;
    auto operator<=>(const Advice&) const = default;
};

/// What one frontend needs.
struct Planned {
    std::optional<LoadBalancer> load_balancer;  ///< none without usable backends
    std::vector<Advice> advice;
};

/// The load balancer for one frontend of `service`. Never fails: what Windows cannot do is left out and said in the advice.
///
/// All backends of a load balancer share one port: of several, the one that most have counts. Of more backends than the host
/// takes, those on the node (`local`) come first and the others by a ranking of their own, so that a change of one does not
/// move the rest, and nodes do not all choose the same.
Planned plan_load_balancer(const FrontendKey& key, const Frontend& frontend, const ServiceInfo& service, const std::set<IpAddress>& local,
                           const HostFacts& host);

/// With HostFacts::root_address: the load balancer by which probes of a cloud's load balancer to the ingress address reach the
/// proxy's health answers. Only for services with a health-check node port; probes of others would conflict with the proxy's own port.
std::optional<LoadBalancer> plan_health_check(const FrontendKey& key, const Frontend& frontend, const ServiceInfo& service,
                                              const HostFacts& host);

/// Removes from a service what the host cannot do, before the table chooses endpoints.
void adapt_service(ServiceInfo& service, const HostFacts& host);
/// What is to be said about a service as a whole, as the API has it (before adapt_service).
std::vector<Advice> service_advice(const ServiceInfo& service, const HostFacts& host);

}  // namespace porthole::proxy::hns
