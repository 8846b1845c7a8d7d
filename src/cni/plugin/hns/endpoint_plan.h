#pragma once
#include <optional>
#include <string>
#include <vector>

#include "cni/plugin/hns/net_conf.h"
#include "hns/features.h"

namespace porthole::cni {

enum class NetworkStyle : std::uint8_t {
    Bridge,   ///< L2Bridge and L2Tunnel: pods use the host's endpoint, the subnet's second address, as their gateway
    Overlay,  ///< pods use the network's gateway; MAC addresses follow from IP addresses
    Any,      ///< any HNS network; HNS knows its gateway
};

/// Error: InvalidConfig when the network is not of the style.
Result<void> check_network(NetworkStyle style, const hcn::HostComputeNetwork& network);

/// The endpoint of a pod, ready to be created. `ips` come from the IPAM plugin; without any, HNS chooses the address.
Result<hcn::HostComputeEndpoint> plan_endpoint(NetworkStyle style, const std::string& name, const WindowsNetConf& conf,
                                               const hcn::HostComputeNetwork& network, const std::vector<CniResult::Ip>& ips,
                                               const porthole::hns::Features& features);

/// The result for the runtime, from an endpoint.
CniResult endpoint_result(const hcn::HostComputeEndpoint& endpoint, const hcn::HostComputeNetwork& network, const Dns& dns);

/// The address at which other nodes reach an overlay's pods; "" until HNS reports it.
std::string management_address(const hcn::HostComputeNetwork& network);

}  // namespace porthole::cni
