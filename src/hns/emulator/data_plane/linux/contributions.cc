#include "hns/emulator/data_plane/linux/contributions.h"

#include <fmt/core.h>

#include <algorithm>

#include "hns/emulator/data_plane/linux/addressing.h"

namespace porthole::hns::emulator {

bool View::has_local_endpoint(const std::string& network) const {
    return std::ranges::any_of(model.endpoints.with(key_of_local(network)), [&](const Endpoint* endpoint) {
        return endpoint->is_attached() && !endpoint->on_host && !is_remote(endpoint->document) &&
               endpoint->document.host_compute_network == network;
    });
}

const Network* View::network_of(const LoadBalancer& balancer) const {
    if (const Network* named = find(model.networks, balancer.document.host_compute_network)) return named;
    for (const std::string& id : balancer.document.host_compute_endpoints) {
        if (const Endpoint* endpoint = find(model.endpoints, id)) return find(model.networks, endpoint->document.host_compute_network);
    }
    return nullptr;
}

std::string virtual_adapter(const std::string& adapter) {
    constexpr std::size_t LongestName = 15;
    return ("v" + adapter).substr(0, LongestName);
}

std::string gateway_on_host(const Network& network, const hcn::Subnet& subnet) {
    const std::string_view type = type_of(network.document);
    const bool is_here = type == hcn::NetworkMode::Nat || type == hcn::NetworkMode::Ics || type == hcn::NetworkMode::Internal;
    return is_here && !subnet.routes.empty() ? ipv4_or_nothing(subnet.routes[0].next_hop) : "";
}

std::string port_name(const Endpoint& endpoint) { return fmt::format("hnsep{}", endpoint.number); }

Contribution needs(const Namespace& compartment, const View& view) {
    const std::string path = view.namespace_path(compartment.document.id);
    Contribution all;
    if (compartment.document.type == hcn::NamespaceType::HostDefault) return all;
    all.fixtures.push_back({.key = "namespace " + path, .stage = Stage::Namespace, .program = "namespace", .make = path, .unmake = path});
    return all;
}

namespace {

/// A route that names no endpoint is the host's own: for node agents whose system cannot set routes. Its device goes with a switch, so
/// that taking it away must not mind when it has gone already.
void add_host_routes(const SdnRoute& route, Contribution& all) {
    for (const auto& setting : route.document.setting) {
        const auto range = ipv4_range(setting.destination_prefix);
        const std::string hop = ipv4_or_nothing(setting.next_hop);
        if (!range || hop.empty() || setting.need_encap) continue;
        const std::string prefix = range->to_string();
        all.fixtures.push_back({.key = "route " + prefix,
                                .stage = Stage::Route,
                                .program = "ip",
                                .make = fmt::format("route replace {} via {} proto 81\n", prefix, hop),
                                .unmake = fmt::format("route flush exact {} proto 81\n", prefix)});
    }
}

}  // namespace

Contribution needs(const SdnRoute& route, const View& view) {
    Contribution all;
    if (route.document.host_compute_endpoints.empty()) add_host_routes(route, all);
    for (const std::string& id : route.document.host_compute_endpoints) {
        const Endpoint* endpoint = find(view.model.endpoints, id);
        if (!endpoint || ipv4_of(*endpoint).empty()) continue;
        std::vector<std::string> prefixes;
        for (const auto& setting : route.document.setting) {
            if (setting.need_encap) prefixes.push_back(setting.destination_prefix);
        }
        for (const IpPrefix& prefix : disjoint_ranges(prefixes)) {
            all.elements.push_back({"encap", ipv4_of(*endpoint) + " . " + prefix.to_string(), ""});
        }
    }
    return all;
}

}  // namespace porthole::hns::emulator
