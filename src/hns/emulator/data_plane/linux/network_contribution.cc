#include <fmt/core.h>

#include "hns/emulator/data_plane/linux/addressing.h"
#include "hns/emulator/data_plane/linux/contributions.h"
#include "hns/emulator/data_plane/linux/rules.h"

namespace porthole::hns::emulator {

namespace {

using Mode = hcn::NetworkMode;

Fixture route(const std::string& destination, const std::string& where, const std::string& parent) {
    return {.key = "route " + destination,
            .stage = Stage::Route,
            .program = "ip",
            .make = fmt::format("route replace {} {} proto 81\n", destination, where),
            .unmake = fmt::format("route del {} proto 81\n", destination),
            .parent = parent};
}

/// A network of its own on the host: what its subnets' addresses are routed to while nobody has them. A pair of links, for a single
/// one without carrier would be shown as unplugged.
void add_subnets(const Network& network, Contribution& all) {
    const std::string name = fmt::format("hnssw{}", network.number), key = "link " + name;
    std::string addresses;
    for (const auto& ipam : network.document.ipams) {
        for (const auto& subnet : ipam.subnets) {
            const auto range = ipv4_range(subnet.ip_address_prefix);
            if (!range) continue;
            // Where pods live in the host's own subnet, the virtual adapter is the way to their neighbors.
            const auto management = IpAddress::parse(network.management_address);
            if (management && range->contains(*management)) continue;
            const std::string gateway = gateway_on_host(network, subnet);
            all.fixtures.push_back(route(range->to_string(), "dev " + name + (gateway.empty() ? "" : " src " + gateway), key));
            if (gateway.empty()) continue;
            addresses += fmt::format("addr replace {}/{} dev {} noprefixroute\n", gateway, range->length(), name);
        }
    }
    if (all.fixtures.empty()) return;
    all.fixtures.push_back(
        {.key = key,
         .stage = Stage::Link,
         .program = "ip",
         .make =
             fmt::format("link add name {0} type veth peer name hnssp{1}\nlink set dev hnssp{1} up\nlink set dev {0} up alias hns-{2}\n",
                         name, network.number, network.document.id),
         .unmake = fmt::format("link del dev {}\n", name),
         .replaces = false});
    if (!addresses.empty()) {
        all.fixtures.push_back({.key = "addresses " + name,
                                .stage = Stage::Address,
                                .program = "ip",
                                .make = addresses,
                                .unmake = fmt::format("addr flush dev {}\n", name),
                                .parent = key});
    }
}

/// Remote subnets by prefix: of several policies for one the last holds.
std::map<std::string, hcn::RemoteSubnetRouteSettings> remote_subnets(const Network& network) {
    std::map<std::string, hcn::RemoteSubnetRouteSettings> by_prefix;
    for (auto& remote : all_settings<hcn::RemoteSubnetRouteSettings>(network.document.policies, "RemoteSubnetRoute")) {
        const auto range = ipv4_range(remote.destination_prefix);
        const bool usable = range && !ipv4_or_nothing(remote.provider_address).empty();
        if (usable && !canonical_mac(remote.distributed_router_mac_address).empty()) by_prefix[range->to_string()] = std::move(remote);
    }
    return by_prefix;
}

std::uint32_t vxlan_id(const Network& network) {
    for (const auto& ipam : network.document.ipams) {
        for (const auto& subnet : ipam.subnets) {
            if (const auto vsid = find_settings<hcn::IsolationSettings>(subnet.policies, "VSID")) return vsid->isolation_id;
        }
    }
    return 4096;
}

/// A VXLAN whose remote subnets each have a next hop of their own that nobody answers for: the neighbor entry names the remote
/// router's MAC, the forwarding entry the host behind which it is. This is what Flannel does on Linux, so the two understand each other.
void add_overlay(const Network& network, const View& view, Contribution& all) {
    const auto router = find_settings<hcn::DrMacAddressSettings>(network.document.policies, "DrMacAddress");
    if (network.management_address.empty() || !router) return;
    const auto port = find_settings<hcn::VxlanPortSettings>(network.document.policies, "VxlanPort");
    constexpr std::uint32_t VxlanOverhead = 50;
    const std::string name = fmt::format("hnsvx{}", network.number), key = "link " + name;
    all.fixtures.push_back(
        {.key = key,
         .stage = Stage::Link,
         .program = "ip",
         .make = fmt::format("link add name {0} address {1} mtu {2} type vxlan id {3} dstport {4} local {5} dev {6} nolearning\n"
                             "link set dev {0} up\n",
                             name, linux_mac(canonical_mac(router->address)), view.options.mtu - VxlanOverhead, vxlan_id(network),
                             port && port->port ? port->port : 4789, network.management_address, virtual_adapter(network.adapter)),
         .unmake = fmt::format("link del dev {}\n", name),
         .replaces = false});
    for (const auto& [prefix, remote] : remote_subnets(network)) {
        const std::string hop = ipv4_range(prefix)->base().to_string();
        const std::string mac = linux_mac(canonical_mac(remote.distributed_router_mac_address));
        all.fixtures.push_back({.key = fmt::format("neighbour {} {}", name, hop),
                                .stage = Stage::Address,
                                .program = "ip",
                                .make = fmt::format("neigh replace {} lladdr {} dev {} nud permanent\n", hop, mac, name),
                                .unmake = fmt::format("neigh del {} dev {}\n", hop, name),
                                .parent = key});
        all.fixtures.push_back({.key = fmt::format("forwarding {} {}", name, mac),
                                .stage = Stage::Address,
                                .program = "bridge",
                                .make = fmt::format("fdb replace {} dev {} dst {} self permanent\n", mac, name, remote.provider_address),
                                .unmake = fmt::format("fdb del {} dev {} self\n", mac, name),
                                .parent = key});
        all.fixtures.push_back(route(prefix, fmt::format("via {} dev {} onlink", hop, name), key));
    }
}

/// Every packet of the network's endpoints goes to the gateway outside, even one for a neighbor on this host.
void add_tunnel(const Network& network, Contribution& all) {
    std::string gateway;
    for (const auto& ipam : network.document.ipams) {
        for (const auto& subnet : ipam.subnets) {
            if (gateway.empty() && !subnet.routes.empty()) gateway = ipv4_or_nothing(subnet.routes[0].next_hop);
        }
    }
    if (gateway.empty()) return;
    const std::uint32_t table = 1000 + network.number;
    const std::string rule = fmt::format("pref {0} fwmark {1:#x} lookup {0} protocol 81\n", table, TunnelMark | network.number);
    all.fixtures.push_back({.key = fmt::format("rule {}", table),
                            .stage = Stage::Route,
                            .program = "ip",
                            .make = "rule add " + rule,
                            .unmake = "rule del " + rule,
                            .replaces = false});
    const std::string where = fmt::format("default table {} via {} dev {} onlink", table, gateway, virtual_adapter(network.adapter));
    all.fixtures.push_back({.key = fmt::format("route {} table {}", "default", table),
                            .stage = Stage::Route,
                            .program = "ip",
                            .make = fmt::format("route replace {} proto 81\n", where),
                            .unmake = fmt::format("route del default table {} proto 81\n", table)});
}

}  // namespace

Contribution needs(const Network& network, const View& view) {
    Contribution all;
    const std::string_view type = type_of(network.document);
    if (type != Mode::Transparent) add_subnets(network, all);
    if (!network.is_external()) return all;
    all.fixtures.push_back({.key = "switch " + network.adapter,
                            .stage = Stage::Switch,
                            .program = "switch",
                            .make = network.adapter,
                            .unmake = network.adapter});
    all.elements.push_back({"uplinks", "\"" + virtual_adapter(network.adapter) + "\"", ""});
    if (!network.management_address.empty()) all.elements.push_back({"host-addresses", network.management_address, ""});
    if (type == Mode::Overlay) add_overlay(network, view, all);
    if (type == Mode::L2Tunnel) add_tunnel(network, all);
    return all;
}

}  // namespace porthole::hns::emulator
