#include "cni/plugin/hns/endpoint_plan.h"

#include <algorithm>

#include "cni/plugin/errors.h"

namespace porthole::cni {

using porthole::hns::make_policy;
using porthole::hns::type_of;

namespace {

/// The subnet of the network that holds the address; the first of its family where none does.
struct Subnet {
    IpPrefix prefix;
    std::optional<IpAddress> gateway;
};
std::optional<Subnet> subnet_of(const hcn::HostComputeNetwork& network, const IpAddress& address) {
    std::optional<Subnet> first;
    for (const auto& ipam : network.ipams) {
        for (const auto& listed : ipam.subnets) {
            const auto prefix = IpPrefix::parse(listed.ip_address_prefix);
            if (!prefix || prefix->base().is_v4() != address.is_v4()) continue;
            Subnet subnet{.prefix = *prefix};
            for (const auto& route : listed.routes) {
                const auto gateway = IpAddress::parse(route.next_hop);
                if (gateway && !subnet.gateway) subnet.gateway = *gateway;
            }
            if (prefix->contains(address)) return subnet;
            if (!first) first = subnet;
        }
    }
    return first;
}

std::optional<IpAddress> gateway_for(NetworkStyle style, const hcn::HostComputeNetwork& network, const CniResult::Ip& ip) {
    if (style == NetworkStyle::Bridge) return IpPrefix(ip.address, ip.prefix_length).base().plus(2);
    const auto subnet = subnet_of(network, ip.address);
    return subnet ? subnet->gateway : std::nullopt;
}

std::string overlay_mac(const std::string& prefix, const IpAddress& address) {
    constexpr char Digits[] = "0123456789ABCDEF";
    std::string mac = prefix;
    for (std::size_t i = 0; i < 4; ++i) mac += {'-', Digits[address.bytes()[i] >> 4], Digits[address.bytes()[i] & 15]};
    return mac;
}

/// Another exception, unless some policy has it already.
void add_nat_exception(std::vector<hcn::Policy>& policies, const std::string& prefix) {
    for (const auto& nat : porthole::hns::all_settings<hcn::OutboundNatSettings>(policies, "OutBoundNAT")) {
        if (std::ranges::find(nat.exceptions, prefix) != nat.exceptions.end()) return;
    }
    policies.push_back(make_policy("OutBoundNAT", hcn::OutboundNatSettings{.exceptions = {prefix}}));
}

void add_overlay_policies(std::vector<hcn::Policy>& policies, const hcn::HostComputeNetwork& network) {
    const bool given =
        std::ranges::any_of(policies, [](const hcn::Policy& policy) { return porthole::hns::is_policy(policy, "ProviderAddress"); });
    const std::string address = management_address(network);
    if (!given && !address.empty())
        policies.push_back(make_policy("ProviderAddress", hcn::ProviderAddressSettings{.provider_address = address}));
}

std::vector<hcn::Policy> policies_for(NetworkStyle style, const WindowsNetConf& conf, const hcn::HostComputeNetwork& network,
                                      const std::vector<CniResult::Ip>& ips, const porthole::hns::Features& features) {
    std::vector<hcn::Policy> policies = conf.policies;
    if (style == NetworkStyle::Bridge && conf.ip_masq_network) add_nat_exception(policies, conf.ip_masq_network->to_string());
    if (style == NetworkStyle::Overlay) {
        add_overlay_policies(policies, network);
        if (conf.ip_masq && !ips.empty()) {
            if (const auto subnet = subnet_of(network, ips.front().address)) add_nat_exception(policies, subnet->prefix.to_string());
        }
    }
    if (conf.loopback_dsr && features.direct_server_return) {
        // A pod that reaches itself through its service must not see its own address as the client's.
        for (const CniResult::Ip& ip : ips)
            policies.push_back(make_policy("OutBoundNAT", hcn::OutboundNatSettings{.destinations = {ip.address.to_string()}}));
    }
    for (const PortMapping& mapping : conf.port_mappings) {
        policies.push_back(make_policy("PortMapping", hcn::PortMappingSettings{.protocol = mapping.protocol,
                                                                               .internal_port = mapping.container_port,
                                                                               .external_port = mapping.host_port,
                                                                               .vip = mapping.host_ip}));
    }
    return policies;
}

}  // namespace

Result<void> check_network(NetworkStyle style, const hcn::HostComputeNetwork& network) {
    using Mode = hcn::NetworkMode;
    const std::string_view type = type_of(network);
    if (style == NetworkStyle::Bridge && type != Mode::L2Bridge && type != Mode::L2Tunnel)
        return cni_error(CniCode::InvalidConfig, "HNS network \"" + network.name + "\" is of type " + std::string(type) +
                                                     "; win-bridge works with L2Bridge and L2Tunnel");
    if (style == NetworkStyle::Overlay && type != Mode::Overlay)
        return cni_error(CniCode::InvalidConfig,
                         "HNS network \"" + network.name + "\" is of type " + std::string(type) + "; win-overlay works with Overlay");
    return {};
}

std::string management_address(const hcn::HostComputeNetwork& network) {
    const auto settings = porthole::hns::find_settings<hcn::ProviderAddressSettings>(network.policies, "ProviderAddress");
    return settings ? settings->provider_address : "";
}

Result<hcn::HostComputeEndpoint> plan_endpoint(NetworkStyle style, const std::string& name, const WindowsNetConf& conf,
                                               const hcn::HostComputeNetwork& network, const std::vector<CniResult::Ip>& given,
                                               const porthole::hns::Features& features) {
    std::vector<CniResult::Ip> ips = given;
    if (style == NetworkStyle::Overlay) {
        if (!ips.empty() && !ips.front().address.is_v4())
            return cni_error(CniCode::InvalidConfig,
                             "overlay networks on Windows are IPv4 only; the IPAM plugin gave " + ips.front().address.to_string());
        if (ips.size() > 1) ips.resize(1);
    }
    hcn::HostComputeEndpoint endpoint;
    endpoint.name = name;
    endpoint.owner = "porthole-cni";
    endpoint.host_compute_network = network.id;
    endpoint.dns.domain = conf.dns.domain;
    endpoint.dns.search = conf.dns.search;
    endpoint.dns.server_list = conf.dns.nameservers;
    endpoint.dns.options = conf.dns.options;
    for (const CniResult::Ip& ip : ips) {
        endpoint.ip_configurations.push_back({.ip_address = ip.address.to_string()});
        if (const auto gateway = gateway_for(style, network, ip))
            endpoint.routes.push_back({.next_hop = gateway->to_string(), .destination_prefix = ip.address.is_v4() ? "0.0.0.0/0" : "::/0"});
    }
    if (style == NetworkStyle::Overlay && !ips.empty()) endpoint.mac_address = overlay_mac(conf.mac_prefix, ips.front().address);
    endpoint.policies = policies_for(style, conf, network, ips, features);
    return endpoint;
}

CniResult endpoint_result(const hcn::HostComputeEndpoint& endpoint, const hcn::HostComputeNetwork& network, const Dns& dns) {
    CniResult result;
    result.interfaces.push_back({endpoint.name, endpoint.mac_address, ""});
    for (const auto& configuration : endpoint.ip_configurations) {
        const auto address = IpAddress::parse(configuration.ip_address);
        if (!address) continue;
        CniResult::Ip ip{.address = *address, .prefix_length = static_cast<int>(configuration.prefix_length)};
        const auto subnet = subnet_of(network, *address);
        if (subnet) ip.prefix_length = subnet->prefix.length();
        for (const auto& route : endpoint.routes) {
            const auto gateway = IpAddress::parse(route.next_hop);
            if (gateway && gateway->is_v4() == address->is_v4()) ip.gateway = *gateway;
        }
        if (!ip.gateway && subnet) ip.gateway = subnet->gateway;
        result.ips.push_back(ip);
    }
    result.dns = dns;
    return result;
}

}  // namespace porthole::cni
