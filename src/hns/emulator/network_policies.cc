#include "hns/emulator/network_policies.h"

#include "hns/emulator/addresses.h"
#include "hns/emulator/policy_checks.h"
#include "hns/policies.h"

namespace porthole::hns::emulator {
namespace {

constexpr std::uint32_t LowestOverlayId = 4096;
constexpr std::uint32_t VxlanPort = 4789;

bool is_overlay(const hcn::HostComputeNetwork& network) { return network.type == hcn::NetworkMode::Overlay; }

Result<void> check_remote_subnet(const hcn::HostComputeNetwork& network, hcn::Policy& policy) {
    if (!is_overlay(network)) return invalid_policy(policy, "only overlay networks have remote subnets");
    TRY(auto route, settings_of<hcn::RemoteSubnetRouteSettings>(policy));
    if (!IpPrefix::parse(route.destination_prefix)) return invalid_policy(policy, "DestinationPrefix is not a valid prefix");
    if (route.isolation_id < LowestOverlayId) return invalid_policy(policy, "IsolationId must be 4096 or more");
    if (!IpAddress::parse(route.provider_address)) return invalid_policy(policy, "ProviderAddress is not a valid address");
    route.distributed_router_mac_address = canonical_mac(route.distributed_router_mac_address);
    if (route.distributed_router_mac_address.empty())
        return invalid_policy(policy, "DistributedRouterMacAddress is not a valid MAC address");
    policy = make_policy(policy.type, route);
    return {};
}

Result<void> check_vxlan_port(const Host& host, const hcn::HostComputeNetwork& network, const hcn::Policy& policy) {
    TRY(const auto port, settings_of<hcn::VxlanPortSettings>(policy));
    if (!is_overlay(network)) return invalid_policy(policy, "only overlay networks have a VXLAN port");
    if (port.port == 0 || port.port > 65535) return invalid_policy(policy, "Port must be 1 to 65535");
    if (port.port != VxlanPort && !host.features.vxlan_port) return invalid_policy(policy, "this release knows port 4789 only");
    return {};
}

Result<void> check_set(const Host& host, const hcn::Policy& policy) {
    TRY(const auto set, settings_of<hcn::SetPolicySettings>(policy));
    if (set.id.empty()) return invalid_policy(policy, "a set needs an Id");
    const bool nested = set.policy_type == hcn::SetPolicyType::Nestedipset;
    if (nested && !host.features.nested_ip_set) return invalid_policy(policy, "this release has no nested sets");
    if (!nested) {
        TRY_VOID(check_address_list(policy, set.values));
    }
    return {};
}

bool is_known_here(const Host& host, const hcn::Policy& policy) {
    if (policy.type == hcn::NetworkPolicyType::SetPolicy) return host.features.set_policy;
    if (policy.type == hcn::NetworkPolicyType::NetworkACL) return host.features.network_acl;
    if (policy.type == hcn::NetworkPolicyType::L4Proxy) return host.features.l4_proxy;
    if (policy.type == hcn::NetworkPolicyType::RemoteSubnetRoute) return host.features.remote_subnet;
    if (policy.type == hcn::NetworkPolicyType::HostRoute) return host.features.host_route;
    return true;
}

}  // namespace

Result<hcn::Policy> check_network_policy(const Host& host, const hcn::HostComputeNetwork& network, hcn::Policy policy) {
    TRY(policy, canonical_policy(PolicyOwner::Network, std::move(policy)));
    if (!is_known_here(host, policy))
        return hresult_error(Hresult::InvalidPolicyType, "The policy type \"" + policy.type + "\" is not supported by this release.");
    if (policy.type == hcn::NetworkPolicyType::RemoteSubnetRoute) {
        TRY_VOID(check_remote_subnet(network, policy));
    } else if (policy.type == hcn::NetworkPolicyType::VxlanPort) {
        TRY_VOID(check_vxlan_port(host, network, policy));
    } else if (policy.type == hcn::NetworkPolicyType::SetPolicy) {
        TRY_VOID(check_set(host, policy));
    } else if (policy.type == hcn::NetworkPolicyType::NetworkACL) {
        TRY_VOID(check_acl(policy));
    }
    return policy;
}

Result<hcn::Policy> check_subnet_policy(const hcn::HostComputeNetwork& network, hcn::Policy policy) {
    TRY(policy, canonical_policy(PolicyOwner::Subnet, std::move(policy)));
    TRY(const auto isolation, settings_of<hcn::IsolationSettings>(policy));
    if (policy.type == hcn::SubnetPolicyType::Vsid && is_overlay(network) && isolation.isolation_id < LowestOverlayId) {
        return invalid_policy(policy, "IsolationId must be 4096 or more");
    }
    if (policy.type == hcn::SubnetPolicyType::Vlan && isolation.isolation_id > 4094)
        return invalid_policy(policy, "IsolationId must be 0 to 4094");
    return policy;
}

Result<void> add_network_policy(std::vector<hcn::Policy>& policies, hcn::Policy policy) {
    const auto set_id = [](const hcn::Policy& p) {
        return p.type == hcn::NetworkPolicyType::SetPolicy ? p.settings.string_at({"Id"}) : "";
    };
    for (const hcn::Policy& other : policies) {
        const bool same_set = !set_id(policy).empty() && set_id(policy) == set_id(other);
        if (same_policy(other, policy) || same_set)
            return hresult_error(Hresult::PolicyAlreadyExists, "A policy of type " + policy.type + " already exists.");
    }
    policies.push_back(std::move(policy));
    return {};
}

Result<void> remove_policy(std::vector<hcn::Policy>& policies, const hcn::Policy& policy) {
    const auto found = std::ranges::find_if(policies, [&](const hcn::Policy& other) { return same_policy(other, policy); });
    if (found == policies.end()) return hresult_error(Hresult::PolicyNotFound);
    policies.erase(found);
    return {};
}

void replace_policies(std::vector<hcn::Policy>& policies, std::vector<hcn::Policy> replacements) {
    std::erase_if(policies, [&](const hcn::Policy& old) {
        return std::ranges::any_of(replacements, [&](const hcn::Policy& replacement) { return replacement.type == old.type; });
    });
    for (hcn::Policy& replacement : replacements) policies.push_back(std::move(replacement));
}

}  // namespace porthole::hns::emulator
