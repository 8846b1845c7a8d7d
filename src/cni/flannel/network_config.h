#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/values/ip.h"

namespace porthole::cni::flannel {

/// How packets reach the pods of other nodes: by routes on each node, in VXLAN, or, with Flannel's "alloc", by existing infrastructure:
/// nodes only have their ranges, and a router has the routes.
enum class Backend : std::uint8_t { HostGateway, Vxlan, Alloc };
/// "host-gw", "vxlan", "alloc"
const char* to_string(Backend backend);
std::optional<Backend> find_backend(std::string_view name);

/// The content of Flannel's net-conf.json: the same on every node of a cluster.
struct NetworkConfig {
    IpPrefix network;  ///< of all pods
    Backend backend = Backend::HostGateway;
    std::string name;  ///< of the HNS network; default "cbr0" or "flannel.4096"
    std::uint32_t vni = 4096;
    std::uint16_t port = 4789;
};

/// `{"Network":"10.244.0.0/16","Backend":{"Type":"host-gw"|"vxlan"|"alloc","Name":…,"VNI":…,"Port":…}}`. Error: BadRequest; for VXLAN with
/// a VNI or port that Windows does not allow, the message names the allowed ones.
Result<NetworkConfig> parse_network_config(std::string_view json);

/// Bytes added to a packet on the way to other nodes.
int overhead(Backend backend);

}  // namespace porthole::cni::flannel
