#include "node_network/routes.h"

#include <cstdio>
#include <span>

namespace porthole::cni {

namespace {

bool is_overlay(const NodeNetworkOptions& options) { return options.backend == flannel::Backend::Vxlan; }

std::string overlay_name(const NodeNetworkOptions& options) { return "flannel." + std::to_string(options.vni); }

/// Whether packets for its pods may go into the overlay.
bool has_far_end(const NodeNetworkOptions& options, const NodeRanges& node) {
    return node.lease && node.lease->backend == flannel::Backend::Vxlan && node.lease->vni == options.vni && !node.lease->vtep_mac.empty();
}

using Nodes = std::map<std::string, NodeRanges>;

/// Whether packets for these addresses may go to another node.
bool may_have(const NodeNetworkOptions& options, const Nodes& nodes, const IpPrefix& prefix) {
    const auto self = nodes.find(options.node_name);
    const std::span<const IpPrefix> own = self == nodes.end() ? std::span<const IpPrefix>() : self->second.pod_prefixes;
    return flannel::may_be_of_another_node(prefix, options.cluster_prefixes, options.service_prefixes, own);
}

}  // namespace

std::vector<net::Route> wanted_routes(const NodeNetworkOptions& options, const Nodes& nodes) {
    using Kind = net::Route::Kind;
    // By destination. A single node may hold the whole range: its route then takes the place of "unreachable".
    std::map<IpPrefix, net::Route> wanted;
    const auto add = [&](net::Route route) { wanted.insert_or_assign(route.destination, std::move(route)); };
    for (const IpPrefix& prefix : options.service_prefixes)
        add({.destination = prefix, .kind = Kind::Local, .device = "lo", .source = options.node_address});
    const bool has_router = options.backend == flannel::Backend::Alloc;
    if (!has_router)
        for (const IpPrefix& prefix : options.cluster_prefixes) add({.destination = prefix, .kind = Kind::Unreachable});
    for (const auto& [name, node] : nodes) {
        if (has_router || name == options.node_name || !node.address || *node.address == options.node_address) continue;
        if (is_overlay(options) && !has_far_end(options, node)) continue;
        for (const IpPrefix& prefix : node.pod_prefixes) {
            if (!may_have(options, nodes, prefix)) continue;
            if (is_overlay(options)) {
                add({.destination = prefix,
                     .kind = Kind::Unicast,
                     .gateway = prefix.base(),
                     .device = overlay_name(options),
                     .onlink = true});
            } else {
                add({.destination = prefix, .kind = Kind::Unicast, .gateway = node.address});
            }
        }
    }
    std::vector<net::Route> routes;
    for (auto& [destination, route] : wanted) routes.push_back(std::move(route));
    return routes;
}

net::OverlayDevice overlay_device(const NodeNetworkOptions& options, const IpPrefix& pod_prefix, int mtu) {
    char mac[18];
    const auto& bytes = options.node_address.bytes();
    std::snprintf(mac, sizeof mac, "5e:00:%02x:%02x:%02x:%02x", bytes[0], bytes[1], bytes[2], bytes[3]);
    return {.name = overlay_name(options),
            .vni = options.vni,
            .node = options.node_address,
            .mac = mac,
            .address = pod_prefix.base(),
            .mtu = mtu};
}

std::vector<net::OverlayPeer> wanted_peers(const NodeNetworkOptions& options, const Nodes& nodes) {
    std::vector<net::OverlayPeer> peers;
    if (!is_overlay(options)) return peers;
    for (const auto& [name, node] : nodes) {
        if (name == options.node_name || !has_far_end(options, node)) continue;
        for (const IpPrefix& prefix : node.pod_prefixes)
            if (may_have(options, nodes, prefix)) peers.push_back({prefix.base(), node.lease->vtep_mac, node.lease->public_ip});
    }
    return peers;
}

}  // namespace porthole::cni
