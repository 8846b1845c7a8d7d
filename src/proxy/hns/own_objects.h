#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "hns/documents.h"
#include "proxy/service_table.h"

namespace porthole::proxy::hns {

namespace hcn = porthole::hns::hcn;

/// How the proxy recognizes its own objects on the host, even after a restart and without a file: it chooses their ids, which are computed
/// from their purpose. The owner is for administrators, and for versions of the service that do not keep ids.
inline constexpr std::string_view Owner = "porthole-kube-proxy";

/// Counts of the proxy's changes to the host; they never decrease.
struct ProgrammerCounts {
    std::uint64_t created = 0, modified = 0, removed = 0, repaired = 0, failures = 0;
};

std::string load_balancer_id(const FrontendKey& frontend);
/// Of the endpoint that represents a pod of another node, or a service's own address on an overlay.
std::string remote_endpoint_id(const std::string& network_id, const IpAddress& address);
/// Of the local endpoint with the source address of an overlay.
std::string source_endpoint_id(const std::string& network_id);

/// The frontend of a load balancer; nullopt for one that the proxy would not create (several ports or addresses).
std::optional<FrontendKey> frontend_of(const hcn::HostComputeLoadBalancer& balancer);
bool is_own(const hcn::HostComputeLoadBalancer& balancer);
bool is_own(const hcn::HostComputeEndpoint& endpoint);

std::vector<IpAddress> addresses_of(const hcn::HostComputeEndpoint& endpoint);
/// "02-11-0A-F4-04-09" for 10.244.4.9: the same on every node, and locally administered.
std::string conjured_mac(const IpAddress& address);

}  // namespace porthole::proxy::hns
