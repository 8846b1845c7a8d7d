#include "proxy/hns/load_balancer.h"

#include <algorithm>

#include "base/hash.h"
#include "base/result.h"
#include "windows/references.h"
#include "windows/support.h"

namespace porthole::proxy::hns {

namespace {

// LoadBalancerFlags
constexpr std::uint32_t DirectServerReturn = 1, Ipv6 = 2;
// LoadBalancerPortMappingFlags
constexpr std::uint32_t LocalRoutedVip = 2, UseMux = 4, PreserveDip = 8, VipExternalIp = 16;
// LoadBalancerDistribution
constexpr std::uint32_t SourceIp = 2;

constexpr std::chrono::seconds UsualAffinityTimeout{10800};

bool holds(const std::vector<IpAddress>& addresses, const IpAddress& address) {
    return std::ranges::find(addresses, address) != addresses.end();
}

std::string text(const FrontendKey& key) {
    const std::string address = key.address.is_v6() ? "[" + key.address.to_string() + "]" : key.address.to_string();
    return address + ":" + std::to_string(key.port) + "/" + to_string(key.protocol);
}

/// The port that most backends have; of equals the lowest.
std::uint16_t common_port(const std::vector<Backend>& backends) {
    std::map<std::uint16_t, std::size_t> count;
    for (const Backend& backend : backends) ++count[backend.port];
    return std::ranges::max_element(count, {}, [](const auto& entry) { return entry.second; })->first;
}

void limit_backends(std::vector<IpAddress>& backends, const FrontendKey& key, const std::set<IpAddress>& local, const HostFacts& host) {
    const auto rank = [&](const IpAddress& address) {
        return std::pair(!local.contains(address), content_hash(host.node_ip.to_string() + text(key) + address.to_string()));
    };
    std::ranges::sort(backends, {}, rank);
    backends.resize(host.backend_limit);
    std::ranges::sort(backends);
}

/// Replies of backends outside the pod network must find the host itself.
std::optional<IpAddress> source_vip(const std::vector<IpAddress>& backends, const std::set<IpAddress>& local, const HostFacts& host) {
    if (!host.overlay) return host.source_vip;
    const auto outside = [&](const IpAddress& address) {
        if (address == host.node_ip) return true;
        if (local.contains(address)) return false;
        const auto provider = host.provider_of(address);
        return !provider || *provider == address;
    };
    return std::ranges::any_of(backends, outside) ? host.node_ip : host.source_vip;
}

void set_flags(LoadBalancer& balancer, const Frontend& frontend, const ServiceInfo& service, const HostFacts& host) {
    const bool ingress = holds(service.load_balancer_ips, balancer.frontend.address);
    const bool preserve = service.preserve_destination && host.dsr_supported;
    bool direct = frontend.kind == Frontend::Kind::ExternalLocal && host.dsr_supported;
    if (frontend.kind == Frontend::Kind::ClusterIp) {
        direct = host.dsr_enabled && host.dsr_supported;
    } else {
        balancer.mapping_flags = VipExternalIp;
    }
    if (balancer.any_host_address()) balancer.mapping_flags |= LocalRoutedVip;
    if (ingress && preserve) {
        direct = true;
        balancer.mapping_flags |= UseMux | PreserveDip;
    }
    if (direct) balancer.flags |= DirectServerReturn;
    if (balancer.frontend.address.is_v6()) balancer.flags |= Ipv6;
    if (frontend.affinity && host.session_affinity) balancer.distribution = SourceIp;
}

/// What the table of Windows' limits says, and `here`, what that means on this node.
Advice advice_of(std::string_view code, const std::string& here = "") {
    const windows::Rule* rule = windows::find_rule(code);
    CHECK(rule);
    return {std::string(rule->reason),
            std::string(rule->field) + ": " + std::string(rule->words) + (here.empty() ? "" : "; " + here) + windows::reference_to({rule})};
}

}  // namespace

std::optional<IpAddress> HostFacts::provider_of(const IpAddress& address) const {
    for (const RemoteSubnet& subnet : remote_subnets) {
        if (subnet.prefix.contains(address) || subnet.provider == address) return subnet.provider;
    }
    return std::nullopt;
}

bool LoadBalancer::any_host_address() const { return frontend.address == IpAddress() || frontend.address == IpAddress::v6({}); }

Planned plan_load_balancer(const FrontendKey& key, const Frontend& frontend, const ServiceInfo& service, const std::set<IpAddress>& local,
                           const HostFacts& host) {
    Planned planned;
    if (key.protocol == Protocol::Sctp) {
        planned.advice.push_back(advice_of("WIN406", "port " + std::to_string(key.port) + " is left out"));
        return planned;
    }
    if (frontend.backends.empty()) return planned;

    LoadBalancer balancer{.frontend = key, .internal_port = common_port(frontend.backends)};
    for (const Backend& backend : frontend.backends) {
        if (backend.port == balancer.internal_port) balancer.backends.push_back(backend.address);
    }
    if (const std::size_t others = frontend.backends.size() - balancer.backends.size(); others > 0) {
        planned.advice.push_back(advice_of("WIN413", std::to_string(balancer.internal_port) + " is used for " + text(key) + ", and " +
                                                         std::to_string(others) + " endpoints are left out"));
    }
    if (balancer.backends.size() > host.backend_limit) {
        planned.advice.push_back(advice_of(
            "WIN414", std::to_string(host.backend_limit) + " of " + std::to_string(balancer.backends.size()) + " backends are used"));
        limit_backends(balancer.backends, key, local, host);
    }
    for (const IpAddress& address : balancer.backends) {
        if (local.contains(address)) balancer.local.insert(address);
    }
    balancer.address_endpoint = host.overlay && frontend.kind == Frontend::Kind::ClusterIp;
    balancer.source_vip = source_vip(balancer.backends, local, host);
    set_flags(balancer, frontend, service, host);
    planned.load_balancer = std::move(balancer);
    return planned;
}

std::optional<LoadBalancer> plan_health_check(const FrontendKey& key, const Frontend& frontend, const ServiceInfo& service,
                                              const HostFacts& host) {
    const bool asked = host.root_address && service.health_check_node_port != 0 && holds(service.load_balancer_ips, key.address);
    if (!asked || frontend.backends.empty()) return std::nullopt;
    LoadBalancer balancer{.frontend = {key.address, Protocol::Tcp, service.health_check_node_port},
                          .internal_port = service.health_check_node_port,
                          .backends = {*host.root_address},
                          .local = {*host.root_address}};
    if (service.preserve_destination) balancer.mapping_flags = UseMux | PreserveDip;
    return balancer;
}

void adapt_service(ServiceInfo& service, const HostFacts& host) {
    // HNS keeps the client's address, which is what Local is about, only by direct server return.
    if (!host.dsr_supported) service.external_local = service.preserve_destination = false;
    // A backend that gets packets for the service's own address must be the last stop.
    if (service.preserve_destination) service.external_local = true;
    service.source_ranges.clear();
}

std::vector<Advice> service_advice(const ServiceInfo& service, const HostFacts& host) {
    std::vector<Advice> advice;
    if (service.external_local && !host.dsr_supported) {
        advice.push_back(advice_of("WIN411"));
    }
    if (service.preserve_destination && !host.dsr_supported) {
        advice.push_back(advice_of("WIN412"));
    }
    if (service.affinity && !host.session_affinity) {
        advice.push_back(advice_of("WIN404"));
    } else if (service.affinity && *service.affinity != UsualAffinityTimeout) {
        advice.push_back(advice_of("WIN403"));
    }
    if (!service.source_ranges.empty()) {
        advice.push_back(advice_of("WIN405"));
    }
    return advice;
}

}  // namespace porthole::proxy::hns
