#include <fmt/core.h>

#include <algorithm>
#include <functional>

#include "hns/emulator/data_plane/linux/access_control.h"
#include "hns/emulator/data_plane/linux/addressing.h"
#include "hns/emulator/data_plane/linux/contributions.h"
#include "hns/emulator/data_plane/linux/rules.h"

namespace porthole::hns::emulator {

namespace {

using Mode = hcn::NetworkMode;

std::string in_quotes(const std::string& name) { return "\"" + name + "\""; }

/// What one attached endpoint needs, with what is asked of it again and again.
class EndpointRules {
public:
    EndpointRules(const Endpoint& endpoint, const Network& network, const View& view)
        : endpoint_(endpoint),
          document_(endpoint.document),
          network_(network),
          view_(view),
          type_(type_of(network.document)),
          address_(ipv4_of(endpoint)),
          port_(port_name(endpoint)),
          nats_(all_settings<hcn::OutboundNatSettings>(document_.policies, "OutBoundNAT")) {}

    Contribution of_host() {
        const std::string name = fmt::format("hnsho{}", endpoint_.number), key = "link " + name;
        add_link(name, fmt::format("link add name {0} mtu {1} address {2} type veth peer name hnshp{3}\nlink set dev hnshp{3} up\n"
                                   "link set dev {0} up alias hns-{4}\n",
                                   name, mtu(), linux_mac(document_.mac_address), endpoint_.number, document_.id));
        std::string lines;
        for (const auto& configuration : document_.ip_configurations) {
            if (configuration.ip_address != address_) continue;
            lines += fmt::format("addr replace {}/{} dev {} noprefixroute\n", address_, configuration.prefix_length, name);
        }
        add("address " + name, Stage::Address, "ip", "", lines, "addr flush dev " + name + "\n", key);
        return std::move(all_);
    }

    Contribution of_compartment() {
        const std::string place = view_.namespace_path(document_.host_compute_namespace), inner = inner_name();
        add_link(port_, fmt::format("link add name {0} mtu {1} type veth peer name {2} mtu {1} address {3} netns {4}\n"
                                    "link set dev {0} {5} up alias hns-{6}\n",
                                    port_, mtu(), inner, linux_mac(document_.mac_address), place,
                                    bridged() ? "master " + virtual_adapter(network_.adapter) : "", document_.id));
        configure_inside(place, inner);
        shape(place, inner);
        if (bridged() || address_.empty()) return std::move(all_);
        add_route();
        confine();
        translate();
        encapsulate();
        map_ports();
        add_access_control(endpoint_, network_, port_, all_);
        return std::move(all_);
    }

private:
    bool bridged() const { return type_ == Mode::Transparent; }

    void add(std::string key, Stage stage, const char* program, std::string place, std::string make, std::string unmake,
             std::string parent) {
        all_.fixtures.push_back({.key = std::move(key),
                                 .stage = stage,
                                 .program = program,
                                 .place = std::move(place),
                                 .make = std::move(make),
                                 .unmake = std::move(unmake),
                                 .parent = std::move(parent)});
    }
    void add_link(const std::string& name, std::string make) {
        all_.fixtures.push_back({.key = "link " + name,
                                 .stage = Stage::Link,
                                 .program = "ip",
                                 .make = std::move(make),
                                 .unmake = "link del dev " + name + "\n",
                                 .replaces = false});
    }
    void element(const char* set, std::string key, std::string data = "") {
        all_.elements.push_back({set, std::move(key), std::move(data)});
    }

    std::string inner_name() const {
        const auto wanted = find_settings<hcn::PortNameSettings>(document_.policies, "PortName");
        const auto usable = [](const std::string& name) {
            constexpr std::size_t LongestName = 15;
            const auto plain = [](unsigned char c) { return std::isalnum(c) || c == '-' || c == '_' || c == '.'; };
            return !name.empty() && name.size() <= LongestName && std::isalpha(static_cast<unsigned char>(name[0])) &&
                   std::ranges::all_of(name, plain);
        };
        return wanted && usable(wanted->name) ? wanted->name : fmt::format("eth{}", endpoint_.number);
    }

    std::uint32_t mtu() const {
        constexpr std::uint32_t VxlanOverhead = 50, Least = 576;
        if (const auto given = find_settings<hcn::InterfaceParametersSettings>(document_.policies, "InterfaceParameters")) {
            if (given->mtu >= Least) return given->mtu;
        }
        if (const auto given = find_settings<hcn::EncapOverheadSettings>(document_.policies, "EncapOverhead")) {
            if (given->overhead + Least < view_.options.mtu) return view_.options.mtu - given->overhead;
        }
        return type_ == Mode::Overlay ? view_.options.mtu - VxlanOverhead : view_.options.mtu;
    }

    void configure_inside(const std::string& place, const std::string& inner) {
        std::string addresses = fmt::format("link set dev {} up\n", inner), routes;
        for (const auto& configuration : document_.ip_configurations) {
            if (ipv4_or_nothing(configuration.ip_address).empty()) continue;
            addresses += fmt::format("addr replace {}/{} dev {}\n", configuration.ip_address,
                                     configuration.prefix_length ? configuration.prefix_length : 32, inner);
        }
        for (const auto& route : document_.routes) {
            if (!ipv4_range(route.destination_prefix) || ipv4_or_nothing(route.next_hop).empty()) continue;
            routes += fmt::format("route replace {} via {} dev {} onlink metric {}\n", route.destination_prefix, route.next_hop, inner,
                                  route.metric);
        }
        const std::string suffix = " " + port_;
        add("addresses inside" + suffix, Stage::Address, "ip", place, addresses, fmt::format("addr flush dev {}\n", inner),
            "link " + port_);
        if (!routes.empty()) {  // in one run of ip with the addresses, which come first
            add("routes inside" + suffix, Stage::Address, "ip", place, routes, fmt::format("route flush dev {} proto boot\n", inner),
                "link " + port_);
        }
    }

    void add_route() {
        std::string source;
        for (const auto& ipam : network_.document.ipams) {
            for (const auto& subnet : ipam.subnets) {
                const auto range = ipv4_range(subnet.ip_address_prefix);
                const std::string gateway = gateway_on_host(network_, subnet);
                if (range && range->contains(IpAddress::parse(address_).value()) && !gateway.empty()) source = " src " + gateway;
            }
        }
        const std::string route = fmt::format("{}/32 dev {} proto 81", address_, port_);
        // In one run of ip with the link.
        add("route " + address_ + "/32", Stage::Address, "ip", "", "route replace " + route + source + "\n", "route del " + route + "\n",
            "link " + port_);
    }

    void shape(const std::string& place, const std::string& inner) {
        const auto limit = find_settings<hcn::QosSettings>(document_.policies, "QOS");
        if (!limit || limit->maximum_outgoing_bandwidth_in_bytes == 0) return;
        const std::uint64_t rate = limit->maximum_outgoing_bandwidth_in_bytes;
        constexpr std::uint64_t LeastBurst = 16384;  // of a few packets, offloads included
        add("shaping inside " + port_, Stage::Route, "tc", place,
            fmt::format("qdisc replace dev {} root tbf rate {}bit burst {} latency 50ms\n", inner, rate * 8,
                        std::max(rate / 50, LeastBurst)),
            fmt::format("qdisc del dev {} root\n", inner), "link " + port_);
    }

    /// Who may talk to the endpoint at all.
    void confine() {
        const bool internal = type_ == Mode::Internal || type_ == Mode::Private, overlay = type_ == Mode::Overlay;
        const bool host_route = std::ranges::any_of(network_.document.policies, [](const auto& p) { return is_policy(p, "HostRoute"); });
        if (internal) element("confined", in_quotes(port_));
        if (type_ == Mode::Private || (overlay && !host_route)) element("closed", in_quotes(port_));
        if (overlay) element("hidden", in_quotes(port_));
        if (type_ == Mode::Nat || type_ == Mode::Ics) element("nat-pods", address_);
        if (type_ == Mode::L2Tunnel) element("tunnels", in_quotes(port_), fmt::format("{:#x}", TunnelMark | network_.number));
    }

    void translate() {
        bool reaches_itself = false;
        std::vector<std::string> exceptions, destinations;
        std::string outbound, inbound;
        for (const auto& nat : nats_) {
            const std::string given = ipv4_or_nothing(nat.virtual_ip), source = given.empty() ? network_.management_address : given;
            if (nat.destinations.empty()) {
                exceptions.insert(exceptions.end(), nat.exceptions.begin(), nat.exceptions.end());
                outbound = source;
            } else {
                destinations.insert(destinations.end(), nat.destinations.begin(), nat.destinations.end());
                inbound = source;
            }
        }
        if (!outbound.empty()) {
            element("outbound-nat", address_, outbound);
            element("translated", address_);
            for (const IpPrefix& range : disjoint_ranges(exceptions)) element("exceptions", address_ + " . " + range.to_string());
        }
        if (!inbound.empty()) {
            element("destination-nat", address_, inbound);
            for (const IpPrefix& range : disjoint_ranges(destinations)) {
                element("destinations", address_ + " . " + range.to_string());
                reaches_itself |= range.contains(IpAddress::parse(address_).value());
            }
        }
        if (!reaches_itself) element("selves", address_ + " . " + address_);
    }

    void encapsulate() {
        std::vector<std::string> prefixes;
        for (const auto& route : all_settings<hcn::SdnRoutePolicySettings>(document_.policies, "SDNRoute")) {
            if (route.need_encap) prefixes.push_back(route.destination_prefix);
        }
        const auto management = IpAddress::parse(network_.management_address);
        for (const IpPrefix& prefix : disjoint_ranges(prefixes)) {
            element("encap", address_ + " . " + prefix.to_string());
            // Of a range around the host's own address not every part is a service's.
            if (prefix.length() == 0 || (management && prefix.contains(*management))) continue;
            element("unserved", address_ + " . " + prefix.to_string());
            add("route " + prefix.to_string(), Stage::Route, "ip", "",
                fmt::format("route replace unreachable {} proto 81\n", prefix.to_string()),
                fmt::format("route del unreachable {} proto 81\n", prefix.to_string()), "");
        }
    }

    void map_ports() {
        for (const auto& mapping : all_settings<hcn::PortMappingSettings>(document_.policies, "PortMapping")) {
            if (mapping.protocol != Protocol::Tcp && mapping.protocol != Protocol::Udp) continue;
            const std::string key = fmt::format("{} . {}", mapping.protocol == Protocol::Tcp ? "tcp" : "udp", mapping.external_port);
            const std::string target = fmt::format("{} . {}", address_, mapping.internal_port);
            const bool any_address = mapping.vip.empty() || mapping.vip == "0.0.0.0";
            if (any_address)
                element("host-ports", key, target);
            else if (!ipv4_or_nothing(mapping.vip).empty())
                element("host-ports-at", mapping.vip + " . " + key, target);
        }
    }

    const Endpoint& endpoint_;
    const hcn::HostComputeEndpoint& document_;
    const Network& network_;
    const View& view_;
    std::string_view type_;
    std::string address_, port_;
    std::vector<hcn::OutboundNatSettings> nats_;
    Contribution all_;
};

}  // namespace

Contribution needs(const Endpoint& endpoint, const View& view) {
    const Network* network = find(view.model.networks, endpoint.document.host_compute_network);
    if (!network || is_remote(endpoint.document) || !endpoint.is_attached()) return {};
    const Namespace* compartment = find(view.model.namespaces, endpoint.document.host_compute_namespace);
    const bool on_host = endpoint.on_host || (compartment && compartment->document.type == hcn::NamespaceType::HostDefault);
    EndpointRules rules(endpoint, *network, view);
    if (on_host) return rules.of_host();
    return compartment ? rules.of_compartment() : Contribution();
}

}  // namespace porthole::hns::emulator
