#include "hns/emulator/operations/addresses.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace porthole::hns::emulator {
namespace {

bool is_default_route(const hcn::Route& route) { return route.destination_prefix == "0.0.0.0/0" || route.destination_prefix == "::/0"; }

/// The first and, in IPv4, the last address of a subnet are nobody's.
bool is_edge(const IpPrefix& prefix, const IpAddress& address) {
    const int host_bits = address.bits() - prefix.length();
    if (host_bits < 2) return false;
    if (address == prefix.base()) return true;
    return address.is_v4() && address == prefix.base().plus((std::uint64_t{1} << host_bits) - 1);
}

/// Calls `visit` with each address of a network's endpoints of one sort, as text in canonical form: local ones and those of other hosts
/// may coincide, as on Windows when a pod gets an address that the proxy still knows elsewhere.
template <class F>
void each_used_address(const Model& model, const std::string& network_id, bool remote, F visit) {
    for (const auto& [id, endpoint] : model.endpoints) {
        if (is_remote(endpoint->document) != remote || endpoint->document.host_compute_network != network_id) continue;
        for (const hcn::IpConfig& config : endpoint->document.ip_configurations) visit(config.ip_address);
    }
}

/// What the endpoints of a network have already; asked once for each new one, and of many thousands in a large cluster.
class UsedAddresses {
public:
    UsedAddresses(const Model& model, const std::string& network_id, bool remote)
        : model_(model), network_id_(network_id), remote_(remote) {}

    bool contains(const std::string& address) const {
        return std::ranges::any_of(model_.endpoints.with(key_of_address(network_id_, address)), [&](const Endpoint* endpoint) {
            const hcn::HostComputeEndpoint& other = endpoint->document;
            return std::ranges::any_of(other.ip_configurations, [&](const hcn::IpConfig& used) { return used.ip_address == address; }) &&
                   is_remote(other) == remote_ && other.host_compute_network == network_id_;
        });
    }
    std::set<IpAddress> all() const {
        std::set<IpAddress> all;
        each_used_address(model_, network_id_, remote_, [&](const std::string& used) {
            if (const auto address = IpAddress::parse(used)) all.insert(*address);
        });
        return all;
    }

private:
    const Model& model_;
    const std::string& network_id_;
    bool remote_;
};

Result<void> check_address(const SubnetPlan& subnet, const IpAddress& address) {
    if (is_edge(subnet.prefix, address) || (subnet.gateway_reserved && address == subnet.gateway)) {
        return hresult_error(Hresult::AddressInvalidOrReserved, fmt::format("The address {} is invalid or reserved.", address.to_string()));
    }
    return {};
}

Result<IpAddress> allocate(const SubnetPlan& subnet, const std::set<IpAddress>& used) {
    const int host_bits = subnet.prefix.base().bits() - subnet.prefix.length();
    const std::uint64_t count = host_bits >= 20 ? 1u << 20 : std::uint64_t{1} << host_bits;
    for (std::uint64_t offset = 0; offset < count; ++offset) {
        const IpAddress address = subnet.prefix.base().plus(offset);
        if (check_address(subnet, address) && !used.contains(address)) return address;
    }
    return hresult_error(Hresult::AddressInvalidOrReserved, "The subnet " + subnet.prefix.to_string() + " has no free address.");
}

Result<void> take_given(const std::vector<SubnetPlan>& subnets, const UsedAddresses& used, bool remote, hcn::IpConfig& config) {
    TRY(const IpAddress address, parse_address(config.ip_address));
    config.ip_address = address.to_string();
    const SubnetPlan* subnet = find_subnet(subnets, address);
    if (!remote) {
        if (!subnet && !subnets.empty()) {
            return hresult_error(Hresult::InvalidIp, fmt::format("The address {} is in no subnet of the network.", config.ip_address));
        }
        if (subnet) {
            TRY_VOID(check_address(*subnet, address));
        }
    }
    if (used.contains(config.ip_address)) {
        return hresult_error(Hresult::ObjectAlreadyExists,
                             fmt::format("The object already exists: an endpoint has the address {}.", config.ip_address));
    }
    if (subnet && config.prefix_length == 0) config.prefix_length = static_cast<std::uint32_t>(subnet->prefix.length());
    return {};
}

Result<void> allocate_all(const std::vector<SubnetPlan>& subnets, const std::set<IpAddress>& used, hcn::HostComputeEndpoint& endpoint) {
    bool has_v4 = false, has_v6 = false;
    for (const SubnetPlan& subnet : subnets) {
        bool& has = subnet.prefix.base().is_v4() ? has_v4 : has_v6;
        if (has) continue;
        TRY(const IpAddress address, allocate(subnet, used));
        hcn::IpConfig config;
        config.ip_address = address.to_string();
        config.prefix_length = static_cast<std::uint32_t>(subnet.prefix.length());
        endpoint.ip_configurations.push_back(std::move(config));
        has = true;
    }
    return {};
}

void add_default_routes(const std::vector<SubnetPlan>& subnets, hcn::HostComputeEndpoint& endpoint) {
    if (!endpoint.routes.empty()) return;
    for (const hcn::IpConfig& config : endpoint.ip_configurations) {
        const auto address = IpAddress::parse(config.ip_address);
        const SubnetPlan* subnet = address ? find_subnet(subnets, *address) : nullptr;
        if (!subnet || !subnet->gateway) continue;
        hcn::Route route;
        route.next_hop = subnet->gateway->to_string();
        route.destination_prefix = address->is_v4() ? "0.0.0.0/0" : "::/0";
        endpoint.routes.push_back(std::move(route));
    }
}

std::uint64_t mac_number(const std::string& mac) {
    std::uint64_t number = 0;
    for (std::size_t i = 0; i + 1 < mac.size(); i += 3) number = number << 8 | std::stoul(mac.substr(i, 2), nullptr, 16);
    return number;
}

std::string mac_text(std::uint64_t number) {
    return fmt::format("{:02X}-{:02X}-{:02X}-{:02X}-{:02X}-{:02X}", number >> 40 & 255, number >> 32 & 255, number >> 24 & 255,
                       number >> 16 & 255, number >> 8 & 255, number & 255);
}

constexpr std::uint64_t MacPrefix = 0x00155D000000;
constexpr std::uint64_t PoolSize = 4096;

}  // namespace

std::vector<SubnetPlan> subnets_of(const hcn::HostComputeNetwork& network) {
    std::vector<SubnetPlan> plans;
    for (const hcn::Ipam& ipam : network.ipams) {
        for (const hcn::Subnet& subnet : ipam.subnets) {
            const auto prefix = IpPrefix::parse(subnet.ip_address_prefix);
            if (!prefix) continue;
            SubnetPlan plan;
            plan.prefix = *prefix;
            plan.id = subnet.id;
            plan.gateway_reserved = (subnet.flags & SubnetFlags::DoNotReserveGatewayAddress) == 0;
            for (const hcn::Route& route : subnet.routes) {
                const auto next_hop = IpAddress::parse(route.next_hop);
                if (is_default_route(route) && next_hop) plan.gateway = *next_hop;
            }
            plans.push_back(std::move(plan));
        }
    }
    return plans;
}

const SubnetPlan* find_subnet(const std::vector<SubnetPlan>& subnets, const IpAddress& address) {
    for (const SubnetPlan& subnet : subnets) {
        if (subnet.prefix.contains(address)) return &subnet;
    }
    return nullptr;
}

Result<IpPrefix> parse_prefix(const std::string& text) {
    const auto prefix = IpPrefix::parse(text);
    const auto base = IpAddress::parse(text.substr(0, text.find('/')));
    if (!prefix || !base || *base != prefix->base())
        return hresult_error(Hresult::InvalidPrefix, "The address prefix \"" + text + "\" is invalid.");
    return *prefix;
}

Result<IpAddress> parse_address(const std::string& text) {
    const auto address = IpAddress::parse(text);
    if (!address) return hresult_error(Hresult::InvalidIp, "The IP address \"" + text + "\" is invalid.");
    return *address;
}

bool is_address_or_prefix(const std::string& text) { return IpAddress::parse(text).has_value() || IpPrefix::parse(text).has_value(); }

Result<void> assign_addresses(const Transaction& transaction, const Network& network, hcn::HostComputeEndpoint& endpoint) {
    const bool remote = is_remote(endpoint);
    const std::vector<SubnetPlan> subnets = subnets_of(network.document);
    const UsedAddresses used(transaction.model(), network.document.id, remote);
    if (remote && endpoint.ip_configurations.empty()) {
        return hresult_error(Hresult::InvalidEndpoint, "The endpoint is invalid: one of another host needs its address.");
    }
    int v4 = 0, v6 = 0;
    for (hcn::IpConfig& config : endpoint.ip_configurations) {
        TRY_VOID(take_given(subnets, used, remote, config));
        ++(config.ip_address.find(':') == std::string::npos ? v4 : v6);
    }
    if (v4 > 1 || v6 > 1)
        return hresult_error(Hresult::InvalidEndpoint, "The endpoint is invalid: it may have one address of each family.");
    if (endpoint.ip_configurations.empty()) {
        TRY_VOID(allocate_all(subnets, used.all(), endpoint));
    }
    if (!remote) add_default_routes(subnets, endpoint);
    return {};
}

Result<void> assign_mac(const Transaction& transaction, const Network& network, hcn::HostComputeEndpoint& endpoint) {
    if (!endpoint.mac_address.empty()) {
        const std::string mac = canonical_mac(endpoint.mac_address);
        if (mac.empty()) return hresult_error(Hresult::InvalidEndpoint, "The MAC address \"" + endpoint.mac_address + "\" is invalid.");
        endpoint.mac_address = mac;
        return {};
    }
    std::set<std::string> used;
    for (const auto& [id, other] : transaction.model().endpoints) used.insert(other->document.mac_address);
    for (const hcn::MacRange& range : network.document.mac_pool.ranges) {
        for (std::uint64_t mac = mac_number(range.start_mac_address); mac <= mac_number(range.end_mac_address); ++mac) {
            endpoint.mac_address = mac_text(mac);
            if (!used.contains(endpoint.mac_address)) return {};
        }
    }
    return hresult_error(Hresult::InvalidEndpoint, "The network has no free MAC address.");
}

Result<hcn::MacPool> make_mac_pool(const Transaction& transaction) {
    std::set<std::string> taken;
    for (const auto& [id, network] : transaction.model().networks) {
        for (const hcn::MacRange& range : network->document.mac_pool.ranges) taken.insert(range.start_mac_address);
    }
    constexpr std::uint64_t Pools = 0x800000 / PoolSize;  // the upper half of the space is for routers
    const std::uint64_t first = transaction.host().random.below(Pools);
    for (std::uint64_t i = 0; i < Pools; ++i) {
        const std::uint64_t start = MacPrefix + (first + i) % Pools * PoolSize;
        if (taken.contains(mac_text(start))) continue;
        hcn::MacPool pool;
        pool.ranges.push_back({.start_mac_address = mac_text(start), .end_mac_address = mac_text(start + PoolSize - 1)});
        return pool;
    }
    return hresult_error(Hresult::InvalidNetwork, "No pool of MAC addresses is free.");
}

std::string make_router_mac(const Transaction& transaction) {
    return mac_text(MacPrefix + 0x800000 + transaction.host().random.below(0x800000));
}

Result<std::string> make_nat_prefix(const Transaction& transaction) {
    for (std::uint32_t block = 0; block < 256; ++block) {
        const IpPrefix prefix(IpAddress::v4(0xAC100000u + block * 4096), 20);
        bool overlaps = false;
        for (const auto& [id, network] : transaction.model().networks) {
            for (const SubnetPlan& subnet : subnets_of(network->document)) overlaps = overlaps || subnet.prefix.overlaps(prefix);
        }
        for (const Adapter& adapter : transaction.host().adapters) {
            const auto address = IpAddress::parse(adapter.address);
            overlaps = overlaps || (address && prefix.contains(*address));
        }
        if (!overlaps) return prefix.to_string();
    }
    return hresult_error(Hresult::InvalidSubnet, "No prefix is free for a NAT network.");
}

}  // namespace porthole::hns::emulator
