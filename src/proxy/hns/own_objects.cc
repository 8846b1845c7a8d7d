#include "proxy/hns/own_objects.h"

#include "base/hash.h"
#include "hns/guid.h"

namespace porthole::proxy::hns {

namespace {

/// A GUID of version 8 (RFC 9562): of our own making.
std::string guid_of(const std::string& what) {
    std::string digits = content_hash("porthole kube-proxy " + what);
    digits[12] = '8';
    digits[16] = 'a';
    for (const std::size_t dash : {8u, 13u, 18u, 23u}) digits.insert(dash, "-");
    return porthole::hns::canonical_guid(digits);
}

std::optional<Protocol> protocol_of_number(std::uint32_t number) {
    using Numbers = porthole::hns::Protocol;
    if (number == Numbers::Tcp) return Protocol::Tcp;
    if (number == Numbers::Udp) return Protocol::Udp;
    return std::nullopt;
}

}  // namespace

std::string load_balancer_id(const FrontendKey& frontend) {
    return guid_of("load balancer " + frontend.address.to_string() + " " + to_string(frontend.protocol) + " " +
                   std::to_string(frontend.port));
}

std::string remote_endpoint_id(const std::string& network_id, const IpAddress& address) {
    return guid_of("remote endpoint " + porthole::hns::canonical_guid(network_id) + " " + address.to_string());
}

std::string source_endpoint_id(const std::string& network_id) {
    return guid_of("source address " + porthole::hns::canonical_guid(network_id));
}

std::optional<FrontendKey> frontend_of(const hcn::HostComputeLoadBalancer& balancer) {
    if (balancer.port_mappings.size() != 1 || balancer.frontend_vips.size() > 1) return std::nullopt;
    const auto& mapping = balancer.port_mappings.front();
    const auto protocol = protocol_of_number(mapping.protocol);
    if (!protocol) return std::nullopt;
    FrontendKey key{.protocol = *protocol, .port = static_cast<std::uint16_t>(mapping.external_port)};
    if ((balancer.flags & porthole::hns::LoadBalancerFlags::Ipv6) != 0) key.address = IpAddress::v6({});
    if (balancer.frontend_vips.empty()) return key;
    const auto address = IpAddress::parse(balancer.frontend_vips.front());
    if (!address) return std::nullopt;
    key.address = *address;
    return key;
}

bool is_own(const hcn::HostComputeLoadBalancer& balancer) {
    if (balancer.owner == Owner) return true;
    const auto frontend = frontend_of(balancer);
    return frontend && porthole::hns::same_guid(balancer.id, load_balancer_id(*frontend));
}

bool is_own(const hcn::HostComputeEndpoint& endpoint) {
    if (endpoint.owner == Owner) return true;
    if (porthole::hns::same_guid(endpoint.id, source_endpoint_id(endpoint.host_compute_network))) return true;
    for (const IpAddress& address : addresses_of(endpoint)) {
        if (porthole::hns::same_guid(endpoint.id, remote_endpoint_id(endpoint.host_compute_network, address))) return true;
    }
    return false;
}

std::vector<IpAddress> addresses_of(const hcn::HostComputeEndpoint& endpoint) {
    std::vector<IpAddress> addresses;
    for (const auto& configuration : endpoint.ip_configurations) {
        if (const auto address = IpAddress::parse(configuration.ip_address)) addresses.push_back(*address);
    }
    return addresses;
}

std::string conjured_mac(const IpAddress& address) {
    const auto& bytes = address.bytes();
    std::string mac = "02-11";
    for (std::size_t i = 0; i < 4; ++i) {
        const std::uint8_t byte = address.is_v4() ? bytes[i] : bytes[15 - i];
        constexpr char Digits[] = "0123456789ABCDEF";
        mac += {'-', Digits[byte >> 4], Digits[byte & 15]};
    }
    return mac;
}

}  // namespace porthole::proxy::hns
