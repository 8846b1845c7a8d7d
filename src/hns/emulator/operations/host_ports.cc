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

/// The addresses whose ports may clash with one of this address: itself, and the host's own for one that names none.
std::vector<std::string> same_places(const Transaction& transaction, const std::string& address) {
    std::vector<std::string> places = {address};
    if (address.empty()) {
        for (const Adapter& adapter : transaction.host().adapters) places.push_back(adapter.address);
    } else if (is_host_address(transaction, address)) {
        places.emplace_back();
    }
    return places;
}

/// Objects of the table that may take one of the ports; the caller looks whether they do.
template <class T>
std::vector<const T*> near(const Transaction& transaction, const Table<T>& table, const std::vector<HostPort>& ports) {
    std::vector<const T*> found;
    for (const HostPort& port : ports) {
        for (const std::string& address : same_places(transaction, port.address)) {
            const std::vector<const T*> some = table.with(key_of_port(address, port.protocol, port.port));
            found.insert(found.end(), some.begin(), some.end());
        }
    }
    return found;
}

bool clash(const Transaction& transaction, const std::vector<HostPort>& some, const std::vector<HostPort>& others) {
    return std::ranges::any_of(some, [&](const HostPort& one) {
        return std::ranges::any_of(others, [&](const HostPort& other) { return clash(transaction, one, other); });
    });
}

/// Whether an endpoint other than `own_id` maps one of the ports.
bool mapped_elsewhere(const Transaction& transaction, const std::vector<HostPort>& ports, const std::string& own_id) {
    return std::ranges::any_of(near(transaction, transaction.model().endpoints, ports), [&](const Endpoint* endpoint) {
        return endpoint->document.id != own_id && clash(transaction, ports, ports_of(endpoint->document));
    });
}

/// Of several that with the smallest id.
const LoadBalancer* find_holder(const Transaction& transaction, const std::vector<HostPort>& ports, const std::string& own_id) {
    const LoadBalancer* holder = nullptr;
    for (const LoadBalancer* balancer : near(transaction, transaction.model().load_balancers, ports)) {
        if (balancer->document.id == own_id || (holder && holder->document.id <= balancer->document.id)) continue;
        if (clash(transaction, ports, ports_of(balancer->document))) holder = balancer;
    }
    return holder;
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
