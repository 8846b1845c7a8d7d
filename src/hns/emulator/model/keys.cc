#include <functional>

#include "hns/emulator/model/model.h"
#include "hns/policies.h"

namespace porthole::hns::emulator {

namespace {

/// `kind` keeps one sort of key from the others.
ObjectKey key_of(char kind, const std::string& text) { return std::hash<std::string>()(kind + text); }

}  // namespace

ObjectKey key_of_address(const std::string& network, const std::string& address) { return key_of('a', network + address); }
ObjectKey key_of_local(const std::string& network) { return key_of('l', network); }
ObjectKey key_of_backend(const std::string& endpoint) { return key_of('b', endpoint); }
ObjectKey key_of_port(const std::string& address, std::uint32_t protocol, std::uint32_t port) {
    return key_of('p', std::to_string(protocol) + ' ' + std::to_string(port) + ' ' + address);
}

std::vector<ObjectKey> keys_of(const Endpoint& endpoint) {
    const hcn::HostComputeEndpoint& document = endpoint.document;
    std::vector<ObjectKey> keys;
    for (const hcn::IpConfig& config : document.ip_configurations)
        keys.push_back(key_of_address(document.host_compute_network, config.ip_address));
    if (endpoint.is_attached() && !endpoint.on_host && !is_remote(document)) keys.push_back(key_of_local(document.host_compute_network));
    for (const auto& mapping : all_settings<hcn::PortMappingSettings>(document.policies, hcn::EndpointPolicyType::PortMapping))
        keys.push_back(key_of_port(mapping.vip, mapping.protocol, mapping.external_port));
    return keys;
}

std::vector<ObjectKey> keys_of(const LoadBalancer& balancer) {
    const hcn::HostComputeLoadBalancer& document = balancer.document;
    std::vector<ObjectKey> keys;
    for (const std::string& endpoint : document.host_compute_endpoints) keys.push_back(key_of_backend(endpoint));
    for (const hcn::LoadBalancerPortMapping& mapping : document.port_mappings) {
        if (document.frontend_vips.empty()) keys.push_back(key_of_port("", mapping.protocol, mapping.external_port));
        for (const std::string& vip : document.frontend_vips) keys.push_back(key_of_port(vip, mapping.protocol, mapping.external_port));
    }
    return keys;
}

}  // namespace porthole::hns::emulator
