#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "base/values/ip.h"

namespace porthole::cni::flannel {

enum class Backend : std::uint8_t { HostGateway, Vxlan };
/// "host-gw", "vxlan"
const char* to_string(Backend backend);

/// What Flannel's net-conf.json says: the same on every node of a cluster.
struct NetworkConfig {
    IpPrefix network;  ///< of all pods
    Backend backend = Backend::HostGateway;
    std::string name;  ///< of the HNS network: "cbr0", "flannel.4096" unless given
    std::uint32_t vni = 4096;
    std::uint16_t port = 4789;
};

/// `{"Network":"10.244.0.0/16","Backend":{"Type":"host-gw"|"vxlan","Name":…,"VNI":…,"Port":…}}`. Error: BadRequest; for VXLAN with another
/// VNI or port than Windows allows the message names those that it does.
Result<NetworkConfig> parse_network_config(std::string_view json);

/// Bytes that a packet grows by on the way to other nodes.
int overhead(Backend backend);

}  // namespace porthole::cni::flannel
