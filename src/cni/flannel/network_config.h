#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/values/ip.h"

namespace porthole::cni::flannel {

/// How packets find the pods of other nodes: by routes of each node, in VXLAN, or, with Flannel's "alloc", by what is there without us:
/// nodes have their ranges only, and a router has the routes.
enum class Backend : std::uint8_t { HostGateway, Vxlan, Alloc };
/// "host-gw", "vxlan", "alloc"
const char* to_string(Backend backend);
std::optional<Backend> find_backend(std::string_view name);

/// What Flannel's net-conf.json says: the same on every node of a cluster.
struct NetworkConfig {
    IpPrefix network;  ///< of all pods
    Backend backend = Backend::HostGateway;
    std::string name;  ///< of the HNS network: "cbr0", "flannel.4096" unless given
    std::uint32_t vni = 4096;
    std::uint16_t port = 4789;
};

/// `{"Network":"10.244.0.0/16","Backend":{"Type":"host-gw"|"vxlan"|"alloc","Name":…,"VNI":…,"Port":…}}`. Error: BadRequest; for VXLAN with
/// another VNI or port than Windows allows the message names those that it does.
Result<NetworkConfig> parse_network_config(std::string_view json);

/// Bytes that a packet grows by on the way to other nodes.
int overhead(Backend backend);

}  // namespace porthole::cni::flannel
