#include "hns/emulator/operations/load_balancers.h"

#include <fmt/format.h>

#include "hns/emulator/operations/addresses.h"
#include "hns/emulator/operations/host_ports.h"

namespace porthole::hns::emulator {
namespace {

/// Ports of the host's dynamic range that one load balancer without DSR takes for its SNAT.
constexpr std::uint32_t SnatBlock = 64;

bool has_dsr(const hcn::HostComputeLoadBalancer& balancer) { return (balancer.flags & LoadBalancerFlags::EnableDirectServerReturn) != 0; }

Result<void> check_features(const Features& features, hcn::HostComputeLoadBalancer& balancer) {
    if (has_dsr(balancer) && !features.direct_server_return)
        return hresult_error(Hresult::RequestUnsupported, "Direct server return is not supported.");
    if ((balancer.flags & LoadBalancerFlags::Ipv6) != 0 && !features.dual_stack) {
        return hresult_error(Hresult::RequestUnsupported, "Load balancers for IPv6 are not supported.");
    }
    // Before 12.0 affinity is taken and forgotten.
    if (!features.session_affinity) {
        for (hcn::LoadBalancerPortMapping& mapping : balancer.port_mappings) mapping.distribution_type = Distribution::FiveTuple;
    }
    return {};
}

Result<void> check_backends(const Transaction& transaction, hcn::HostComputeLoadBalancer& balancer) {
    const Profile& profile = transaction.host().profile;
    std::vector<std::string> backends;
    for (const std::string& id : balancer.host_compute_endpoints) {
        TRY(const Endpoint* endpoint, need_endpoint(transaction.model(), id));
        if (std::ranges::find(backends, endpoint->document.id) == backends.end()) backends.push_back(endpoint->document.id);
    }
    if (backends.empty()) return hresult_error(Hresult::InvalidParameter, "The parameter is incorrect: a load balancer needs an endpoint.");
    if (backends.size() > profile.backend_limit) {
        return hresult_error(Hresult::InvalidParameter,
                             "The parameter is incorrect. Unable to initialize the load balancing rule: invalid number of destinations.");
    }
    balancer.host_compute_endpoints = std::move(backends);
    return {};
}

Result<void> check_addresses(hcn::HostComputeLoadBalancer& balancer) {
    const bool ipv6 = (balancer.flags & LoadBalancerFlags::Ipv6) != 0;
    for (std::string& vip : balancer.frontend_vips) {
        TRY(const IpAddress address, parse_address(vip));
        if (address.is_v6() != ipv6)
            return hresult_error(Hresult::InvalidIp, fmt::format("The IP address \"{}\" is of the wrong family.", vip));
        vip = address.to_string();
    }
    if (!balancer.source_vip.empty()) {
        TRY(const IpAddress source, parse_address(balancer.source_vip));
        balancer.source_vip = source.to_string();
    }
    return {};
}

Result<void> check_ports(const hcn::HostComputeLoadBalancer& balancer) {
    if (balancer.port_mappings.empty())
        return hresult_error(Hresult::InvalidParameter, "The parameter is incorrect: a load balancer needs a port mapping.");
    for (const hcn::LoadBalancerPortMapping& mapping : balancer.port_mappings) {
        if (mapping.protocol != Protocol::Tcp && mapping.protocol != Protocol::Udp) {
            return hresult_error(Hresult::InvalidPolicy, "The policy is invalid: load balancers know TCP and UDP.");
        }
        if (mapping.internal_port == 0 || mapping.internal_port > 65535) return hresult_error(Hresult::InvalidInternalPort);
        if (mapping.external_port == 0 || mapping.external_port > 65535) return hresult_error(Hresult::InvalidParameter);
        if (mapping.internal_port != balancer.port_mappings.front().internal_port) {
            return hresult_error(Hresult::InvalidParameter, "The parameter is incorrect: all mappings share one internal port.");
        }
    }
    return {};
}

Result<std::uint32_t> reserve_snat_ports(const Transaction& transaction, const hcn::HostComputeLoadBalancer& balancer) {
    if (has_dsr(balancer)) return 0u;
    std::uint32_t blocks = 0;
    for (const auto& [id, other] : transaction.model().load_balancers) blocks += id != balancer.id ? other->reserved_ports / SnatBlock : 0;
    if (blocks >= transaction.host().profile.snat_blocks) {
        return hresult_error(Hresult::PortAlreadyExists, "The specified port already exists: the dynamic port range is used up.");
    }
    return SnatBlock;
}

bool same_service(const hcn::HostComputeLoadBalancer& a, const hcn::HostComputeLoadBalancer& b) {
    return a.frontend_vips == b.frontend_vips && a.port_mappings == b.port_mappings && a.host_compute_endpoints == b.host_compute_endpoints;
}

Result<void> check_taken(const Transaction& transaction, const hcn::HostComputeLoadBalancer& balancer) {
    const LoadBalancer* holder = find_holder(transaction, balancer);
    if (holder && holder->rehydrated && same_service(holder->document, balancer)) return hresult_error(Hresult::AlreadyExists);
    return check_host_ports(transaction, balancer);
}

Result<void> check(const Transaction& transaction, hcn::HostComputeLoadBalancer& balancer) {
    if (!balancer.host_compute_network.empty()) {
        TRY(const Network* network, need_network(transaction.model(), balancer.host_compute_network));
        balancer.host_compute_network = network->document.id;
    }
    TRY_VOID(check_features(transaction.host().features, balancer));
    TRY_VOID(check_ports(balancer));
    TRY_VOID(check_addresses(balancer));
    TRY_VOID(check_backends(transaction, balancer));
    return check_taken(transaction, balancer);
}

}  // namespace

Result<std::string> create_load_balancer(Transaction& transaction, hcn::HostComputeLoadBalancer document) {
    TRY(document.id, id_for(document.id, transaction.host().random));
    if (find(transaction.model().load_balancers, document.id)) return hresult_error(Hresult::AlreadyExists);
    TRY_VOID(check(transaction, document));
    LoadBalancer balancer;
    TRY(balancer.reserved_ports, reserve_snat_ports(transaction, document));
    complete_document(document, transaction.host().profile);
    balancer.number = transaction.free_number<LoadBalancer>();
    balancer.document = std::move(document);
    const std::string id = balancer.document.id;
    transaction.put(std::move(balancer));
    return id;
}

Result<void> modify_load_balancer(Transaction& transaction, const std::string& id, hcn::HostComputeLoadBalancer document) {
    if (!transaction.host().features.modify_load_balancer) return hresult_error(Hresult::NotImplemented);
    TRY(const LoadBalancer* found, need_load_balancer(transaction.model(), id));
    LoadBalancer balancer = *found;
    document.id = balancer.document.id;
    TRY_VOID(check(transaction, document));
    TRY(balancer.reserved_ports, reserve_snat_ports(transaction, document));
    complete_document(document, transaction.host().profile);
    balancer.document = std::move(document);
    balancer.rehydrated = false;
    transaction.put(std::move(balancer));
    return {};
}

Result<void> remove_load_balancer(Transaction& transaction, const std::string& id) {
    TRY(const LoadBalancer* found, need_load_balancer(transaction.model(), id));
    transaction.erase<LoadBalancer>(std::string(found->document.id));
    return {};
}

}  // namespace porthole::hns::emulator
