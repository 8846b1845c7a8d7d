#include "hns/emulator/policy_checks.h"

#include <charconv>

#include "hns/emulator/addresses.h"
#include "hns/policies.h"

namespace porthole::hns::emulator {
namespace {

std::vector<std::string> items_of(const std::string& list) {
    std::vector<std::string> items;
    for (std::size_t from = 0; from < list.size();) {
        const std::size_t to = std::min(list.find(',', from), list.size());
        std::string item = list.substr(from, to - from);
        std::erase(item, ' ');
        items.push_back(std::move(item));
        from = to + 1;
    }
    return items;
}

bool is_number_up_to(std::string_view text, std::uint32_t limit) {
    std::uint32_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc() && end == text.data() + text.size() && number <= limit;
}

bool is_port_range(const std::string& text) {
    const std::size_t dash = text.find('-');
    return is_number_up_to(std::string_view(text).substr(0, dash), 65535) &&
           (dash == std::string::npos || is_number_up_to(std::string_view(text).substr(dash + 1), 65535));
}

Result<void> check_protocols(const hcn::Policy& policy, const std::string& list) {
    for (const std::string& item : items_of(list)) {
        if (!is_number_up_to(item, 255)) return invalid_policy(policy, "\"" + item + "\" is not a valid protocol number");
    }
    return {};
}

Result<void> check_port_mapping(const hcn::Policy& policy) {
    TRY(const auto mapping, settings_of<hcn::PortMappingSettings>(policy));
    if (mapping.protocol != Protocol::Tcp && mapping.protocol != Protocol::Udp)
        return invalid_policy(policy, "Protocol must be TCP or UDP");
    if (mapping.internal_port == 0) return hresult_error(Hresult::InvalidInternalPort);
    if (mapping.internal_port > 65535 || mapping.external_port == 0 || mapping.external_port > 65535)
        return invalid_policy(policy, "ports must be 1 to 65535");
    if (!mapping.vip.empty() && !IpAddress::parse(mapping.vip)) return invalid_policy(policy, "VIP is not a valid address");
    return {};
}

Result<void> check_outbound_nat(const hcn::Policy& policy) {
    TRY(const auto nat, settings_of<hcn::OutboundNatSettings>(policy));
    if (!nat.virtual_ip.empty() && !IpAddress::parse(nat.virtual_ip)) return invalid_policy(policy, "VirtualIP is not a valid address");
    for (const auto* list : {&nat.exceptions, &nat.destinations}) {
        for (const std::string& item : *list) {
            if (!is_address_or_prefix(item)) return invalid_policy(policy, "\"" + item + "\" is not a valid address or prefix");
        }
    }
    return {};
}

Result<void> check_route(const hcn::Policy& policy) {
    TRY(const auto route, settings_of<hcn::SdnRoutePolicySettings>(policy));
    if (!is_address_or_prefix(route.destination_prefix)) return invalid_policy(policy, "DestinationPrefix is not a valid prefix");
    if (!route.next_hop.empty() && !IpAddress::parse(route.next_hop)) return invalid_policy(policy, "NextHop is not a valid address");
    return {};
}

Result<void> check_provider(const hcn::Policy& policy) {
    TRY(const auto provider, settings_of<hcn::ProviderAddressSettings>(policy));
    if (!IpAddress::parse(provider.provider_address)) return invalid_policy(policy, "ProviderAddress is not a valid address");
    return {};
}

Result<void> check_tier(const hcn::Policy& policy) {
    TRY(const auto tier, settings_of<hcn::TierAclSettings>(policy));
    for (const hcn::TierAclRule& rule : tier.tier_acl_rules) {
        TRY_VOID(check_protocols(policy, rule.protocols));
        TRY_VOID(check_address_list(policy, rule.local_addresses, true));
        TRY_VOID(check_address_list(policy, rule.remote_addresses, true));
        TRY_VOID(check_port_list(policy, rule.local_ports));
        TRY_VOID(check_port_list(policy, rule.remote_ports));
    }
    return {};
}

struct Check {
    std::string_view type;
    Result<void> (*check)(const hcn::Policy&);
    bool Features::* feature;  ///< nullptr: in every release
};

constexpr Check Checks[] = {
    {hcn::EndpointPolicyType::PortMapping, check_port_mapping, nullptr},
    {hcn::EndpointPolicyType::OutBoundNAT, check_outbound_nat, nullptr},
    {hcn::EndpointPolicyType::SDNRoute, check_route, nullptr},
    {hcn::EndpointPolicyType::ProviderAddress, check_provider, nullptr},
    {hcn::EndpointPolicyType::Acl, check_acl, nullptr},
    {hcn::EndpointPolicyType::TierAcl, check_tier, &Features::tier_acl},
    {hcn::EndpointPolicyType::L4Proxy, nullptr, &Features::l4_proxy},
    {hcn::EndpointPolicyType::L4wfpproxy, nullptr, &Features::l4_wfp_proxy},
    {hcn::EndpointPolicyType::Iov, nullptr, &Features::accelerated_networking},
};

}  // namespace

Error invalid_policy(const hcn::Policy& policy, const std::string& why) {
    return hresult_error(Hresult::InvalidPolicy, "The policy " + policy.type + " is invalid: " + why + ".");
}

Result<void> check_address_list(const hcn::Policy& policy, const std::string& list, bool sets_too) {
    for (const std::string& item : items_of(list)) {
        if (!is_address_or_prefix(item) && (!sets_too || item.empty()))
            return invalid_policy(policy, "\"" + item + "\" is not a valid address or prefix");
    }
    return {};
}

Result<void> check_port_list(const hcn::Policy& policy, const std::string& list) {
    for (const std::string& item : items_of(list)) {
        if (!is_port_range(item)) return invalid_policy(policy, "\"" + item + "\" is not a valid port or port range");
    }
    return {};
}

Result<void> check_acl(const hcn::Policy& policy) {
    TRY(const auto acl, settings_of<hcn::AclSettings>(policy));
    if (acl.action != hcn::ActionType::Allow && acl.action != hcn::ActionType::Block)
        return invalid_policy(policy, "Action must be Allow or Block");
    if (acl.direction != hcn::DirectionType::In && acl.direction != hcn::DirectionType::Out)
        return invalid_policy(policy, "Direction must be In or Out");
    if (acl.priority > 65535) return invalid_policy(policy, "Priority must be 0 to 65535");
    TRY_VOID(check_protocols(policy, acl.protocols));
    TRY_VOID(check_address_list(policy, acl.local_addresses, true));
    TRY_VOID(check_address_list(policy, acl.remote_addresses, true));
    TRY_VOID(check_port_list(policy, acl.local_ports));
    return check_port_list(policy, acl.remote_ports);
}

Result<hcn::Policy> check_endpoint_policy(const Host& host, hcn::Policy policy) {
    TRY(policy, canonical_policy(PolicyOwner::Endpoint, std::move(policy)));
    const auto row = std::ranges::find(Checks, std::string_view(policy.type), &Check::type);
    if (row == std::end(Checks)) return policy;
    if (row->feature && !(host.features.*row->feature)) {
        return hresult_error(Hresult::InvalidPolicyType, "The policy type \"" + policy.type + "\" is not supported by this release.");
    }
    if (row->check) {
        TRY_VOID(row->check(policy));
    }
    return policy;
}

}  // namespace porthole::hns::emulator
