#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/values/ip.h"
#include "cni/plugin/request.h"
#include "cni/plugin/result.h"
#include "hns/documents.h"

namespace porthole::cni {

namespace hcn = porthole::hns::hcn;

/// A host port of a pod, as the capability portMappings has it.
struct PortMapping {
    std::uint32_t protocol = 0;  ///< the IP protocol's number
    std::uint16_t host_port = 0, container_port = 0;
    std::string host_ip;  ///< "" for every address
};

/// The configuration of win-bridge, win-overlay or wincni, with runtimeConfig applied.
struct WindowsNetConf {
    std::vector<hcn::Policy> policies;  ///< of endpoints, in the form of version 2
    Dns dns;
    std::vector<PortMapping> port_mappings;
    bool loopback_dsr = false;
    std::optional<IpPrefix> ip_masq_network;  ///< win-bridge
    bool ip_masq = false;                     ///< win-overlay
    std::string mac_prefix = "0E-2A";         ///< win-overlay
    std::string ipam_type;                    ///< "": HNS allocates
};

/// Policies may have the form of version 1 (flat, `ExceptionList`) or 2 (`Settings`), in `policies` as `{name, value}` with the
/// name EndpointPolicy, or in `AdditionalArgs` with a name that has "Policy" in it.
/// Error: InvalidConfig, naming the member.
Result<WindowsNetConf> read_windows_net_conf(const CniRequest& request);

/// Of either version. Error: InvalidConfig.
Result<hcn::Policy> read_endpoint_policy(const schema::Value& value);

/// A configuration for the host-local IPAM of a bridge network that assigns no address below the third usable one: the first is HNS'
/// gateway, the second the host's own endpoint and the pods' gateway.
schema::Value with_reserved_gateways(schema::Value config);

}  // namespace porthole::cni
