#include "hns/emulator/operations/host_ports.h"

#include <fmt/format.h>

namespace porthole::hns::emulator {
namespace {

struct HostPort {
    std::string address;  ///< "" for all addresses of the host
    std::uint32_t protocol = 0, port = 0;
};

std::vector<HostPort> ports_of(const hcn::HostComputeEndpoint& endpoint) {
    std::vector<HostPort> ports;
    for (const auto& mapping : all_settings<hcn::PortMappingSettings>(endpoint.policies, hcn::EndpointPolicyType::PortMapping)) {
        ports.push_back({mapping.vip, mapping.protocol, mapping.external_port});
    }
    return ports;
}

std::vector<HostPort> ports_of(const hcn::HostComputeLoadBalancer& balancer) {
    std::vector<HostPort> ports;
    for (const hcn::LoadBalancerPortMapping& mapping : balancer.port_mappings) {
        if (balancer.frontend_vips.empty()) ports.push_back({"", mapping.protocol, mapping.external_port});
        for (const std::string& vip : balancer.frontend_vips) ports.push_back({vip, mapping.protocol, mapping.external_port});
    }
    return ports;
}

bool is_host_address(const Transaction& transaction, const std::string& address) {
    return address.empty() ||
           std::ranges::any_of(transaction.host().adapters, [&](const Adapter& adapter) { return adapter.address == address; });
}

bool same_place(const Transaction& transaction, const std::string& a, const std::string& b) {
    return a == b || (a.empty() && is_host_address(transaction, b)) || (b.empty() && is_host_address(transaction, a));
}

bool clash(const Transaction& transaction, const HostPort& a, const HostPort& b) {
    return a.protocol == b.protocol && a.port == b.port && same_place(transaction, a.address, b.address);
}

/// As it stands, without a list of its ports: it is asked of every load balancer for every new one.
bool clash(const Transaction& transaction, const HostPort& port, const hcn::HostComputeLoadBalancer& balancer) {
    const auto same_number = [&](const auto& mapping) { return mapping.protocol == port.protocol && mapping.external_port == port.port; };
    if (std::ranges::none_of(balancer.port_mappings, same_number)) return false;
    if (balancer.frontend_vips.empty()) return same_place(transaction, port.address, "");
    return std::ranges::any_of(balancer.frontend_vips, [&](const std::string& vip) { return same_place(transaction, port.address, vip); });
}

bool clash(const Transaction& transaction, const std::vector<HostPort>& some, const std::vector<HostPort>& others) {
    return std::ranges::any_of(some, [&](const HostPort& one) {
        return std::ranges::any_of(others, [&](const HostPort& other) { return clash(transaction, one, other); });
    });
}

/// Whether an endpoint other than `own_id` maps one of the ports.
bool mapped_elsewhere(const Transaction& transaction, const std::vector<HostPort>& ports, const std::string& own_id) {
    for (const auto& [id, endpoint] : transaction.model().endpoints) {
        if (id != own_id && !endpoint->document.policies.empty() && clash(transaction, ports, ports_of(endpoint->document))) return true;
    }
    return false;
}

const LoadBalancer* find_holder(const Transaction& transaction, const std::vector<HostPort>& ports, const std::string& own_id) {
    for (const auto& [id, balancer] : transaction.model().load_balancers) {
        if (id == own_id) continue;
        for (const HostPort& port : ports) {
            if (clash(transaction, port, balancer->document)) return balancer.get();
        }
    }
    return nullptr;
}

Result<void> check(const Transaction& transaction, const std::vector<HostPort>& ports, const std::string& own_id) {
    for (std::size_t i = 0; i < ports.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) {
            if (clash(transaction, ports[i], ports[j])) return hresult_error(Hresult::PortAlreadyExists);
        }
    }
    if (ports.empty()) return {};
    if (mapped_elsewhere(transaction, ports, own_id) || find_holder(transaction, ports, own_id))
        return hresult_error(Hresult::PortAlreadyExists);
    return {};
}

}  // namespace

Result<void> check_host_ports(const Transaction& transaction, const hcn::HostComputeEndpoint& endpoint) {
    return check(transaction, ports_of(endpoint), endpoint.id);
}

Result<void> check_host_ports(const Transaction& transaction, const hcn::HostComputeLoadBalancer& balancer) {
    return check(transaction, ports_of(balancer), balancer.id);
}

const LoadBalancer* find_holder(const Transaction& transaction, const hcn::HostComputeLoadBalancer& balancer) {
    return find_holder(transaction, ports_of(balancer), balancer.id);
}

}  // namespace porthole::hns::emulator
