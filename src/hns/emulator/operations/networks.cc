#include "hns/emulator/operations/networks.h"

#include <fmt/format.h>

#include "hns/emulator/operations/addresses.h"
#include "hns/emulator/operations/endpoints.h"
#include "hns/emulator/operations/network_policies.h"
#include "hns/guid.h"
#include "schema/convert.h"

namespace porthole::hns::emulator {
namespace {

using Mode = hcn::NetworkMode;

bool is_one_of(std::string_view type, std::initializer_list<std::string_view> types) {
    return std::ranges::find(types, type) != types.end();
}
bool needs_switch(std::string_view type) { return is_one_of(type, {Mode::Transparent, Mode::L2Bridge, Mode::L2Tunnel, Mode::Overlay}); }

Result<void> check_type(const hcn::HostComputeNetwork& network) {
    if (network.type.empty() || needs_switch(network.type) || is_one_of(network.type, {Mode::Ics, Mode::Private, Mode::Internal}))
        return {};
    return hresult_error(Hresult::InvalidNetworkType, "The network type \"" + network.type + "\" is invalid.");
}

Result<void> check_name(const Transaction& transaction, const hcn::HostComputeNetwork& network) {
    for (const auto& [id, other] : transaction.model().networks) {
        if (id == network.id || (!network.name.empty() && other->document.name == network.name))
            return hresult_error(Hresult::NetworkAlreadyExists);
    }
    return {};
}

Result<void> check_subnet(const Transaction& transaction, const hcn::HostComputeNetwork& network, hcn::Subnet& subnet) {
    TRY(const IpPrefix prefix, parse_prefix(subnet.ip_address_prefix));
    subnet.ip_address_prefix = prefix.to_string();
    TRY(subnet.id, id_for(subnet.id, transaction.host().random));
    for (hcn::Policy& policy : subnet.policies) {
        TRY(policy, check_subnet_policy(network, std::move(policy)));
    }
    for (const hcn::Route& route : subnet.routes) {
        TRY_VOID(parse_address(route.next_hop));
        if (!IpPrefix::parse(route.destination_prefix))
            return hresult_error(Hresult::InvalidSubnet, "The subnet is invalid: a route has no prefix.");
    }
    const bool overlay = network.type == Mode::Overlay;
    if (overlay && !find_settings<hcn::IsolationSettings>(subnet.policies, hcn::SubnetPolicyType::Vsid)) {
        return hresult_error(Hresult::InvalidPolicy, "The subnet of an overlay network needs a VSID policy.");
    }
    if (prefix.base().is_v6() && (overlay || !transaction.host().features.dual_stack)) {
        return hresult_error(Hresult::InvalidSubnet, overlay ? "Overlay networks are IPv4 only." : "This release has no IPv6 on networks.");
    }
    return {};
}

Result<void> check_subnets(const Transaction& transaction, hcn::HostComputeNetwork& network) {
    std::vector<IpPrefix> seen;
    for (hcn::Ipam& ipam : network.ipams) {
        if (ipam.type.empty()) ipam.type = hcn::IpamType::Static;
        for (hcn::Subnet& subnet : ipam.subnets) {
            if (subnet.ip_address_prefix.empty() && ipam.type == hcn::IpamType::Dhcp) continue;
            TRY_VOID(check_subnet(transaction, network, subnet));
            const IpPrefix prefix = *IpPrefix::parse(subnet.ip_address_prefix);
            for (const IpPrefix& other : seen) {
                if (other.overlaps(prefix)) return hresult_error(Hresult::InvalidSubnet, "The subnet is invalid: it overlaps another.");
            }
            seen.push_back(prefix);
        }
    }
    if (network.type == Mode::Overlay && seen.empty()) return hresult_error(Hresult::InvalidSubnet, "An overlay network needs a subnet.");
    return {};
}

/// NAT: the host is the gateway, so both prefix and route may be left to the service.
Result<void> complete_nat(const Transaction& transaction, hcn::HostComputeNetwork& network) {
    if (network.ipams.empty()) network.ipams.emplace_back();
    hcn::Ipam& ipam = network.ipams.front();
    if (ipam.subnets.empty()) ipam.subnets.emplace_back();
    for (hcn::Subnet& subnet : ipam.subnets) {
        if (subnet.ip_address_prefix.empty()) {
            TRY(subnet.ip_address_prefix, make_nat_prefix(transaction));
        }
        TRY(const IpPrefix prefix, parse_prefix(subnet.ip_address_prefix));
        if (!subnet.routes.empty()) continue;
        hcn::Route route;
        route.next_hop = prefix.base().plus(1).to_string();
        route.destination_prefix = prefix.base().is_v4() ? "0.0.0.0/0" : "::/0";
        subnet.routes.push_back(std::move(route));
    }
    return {};
}

Result<void> check_policies(const Host& host, hcn::HostComputeNetwork& network) {
    std::vector<hcn::Policy> policies;
    for (hcn::Policy& policy : network.policies) {
        TRY(policy, check_network_policy(host, network, std::move(policy)));
        TRY_VOID(add_network_policy(policies, std::move(policy)));
    }
    network.policies = std::move(policies);
    return {};
}

Result<void> check_mac_pool(const Transaction& transaction, hcn::HostComputeNetwork& network) {
    for (hcn::MacRange& range : network.mac_pool.ranges) {
        for (std::string* mac : {&range.start_mac_address, &range.end_mac_address}) {
            if (*mac = canonical_mac(*mac); mac->empty())
                return hresult_error(Hresult::InvalidNetwork, "The network's MAC pool is invalid.");
        }
    }
    if (network.mac_pool.ranges.empty()) {
        TRY(network.mac_pool, make_mac_pool(transaction));
    }
    return {};
}

/// "Ethernet" and "vEthernet (Ethernet)" are one adapter: the first becomes the second when it gets a switch.
bool names_adapter(std::string_view name, const Adapter& adapter) {
    const std::string& known_as = adapter.renamed.empty() ? adapter.name : adapter.renamed;
    return name == known_as || name == "vEthernet (" + known_as + ")";
}

/// Networks share the switch of an adapter when they are of one type.
bool is_free_for(const Model& model, const std::string& adapter, std::string_view type) {
    return std::ranges::all_of(model.networks,
                               [&](const auto& row) { return row.second->adapter != adapter || row.second->document.type == type; });
}

Result<std::string> choose_adapter(const Transaction& transaction, const hcn::HostComputeNetwork& network) {
    const auto wanted = find_settings<hcn::NetAdapterNameSettings>(network.policies, hcn::NetworkPolicyType::NetAdapterName);
    for (const Adapter& adapter : transaction.host().adapters) {
        if (wanted && !names_adapter(wanted->network_adapter_name, adapter)) continue;
        if (is_free_for(transaction.model(), adapter.name, network.type)) return adapter.name;
        if (wanted)
            return hresult_error(Hresult::AdapterNotFound, "The adapter \"" + adapter.name + "\" is in use by a network of another type.");
    }
    return hresult_error(Hresult::AdapterNotFound,
                         wanted ? "The adapter \"" + wanted->network_adapter_name + "\" was not found." : "An adapter was not found.");
}

void add_policy(hcn::HostComputeNetwork& network, hcn::Policy policy) { replace_policies(network.policies, {std::move(policy)}); }

Result<void> modify_policies(const Host& host, hcn::HostComputeNetwork& network, const hcn::ModifySettingRequest& request) {
    TRY(auto settings, from_tree<hcn::PolicyRequest>(request.settings));
    for (hcn::Policy& policy : settings.policies) {
        TRY(policy, check_network_policy(host, network, std::move(policy)));
    }
    if (request.request_type == hcn::ModifyRequestType::Update) {
        replace_policies(network.policies, std::move(settings.policies));
        return {};
    }
    for (hcn::Policy& policy : settings.policies) {
        if (request.request_type == hcn::ModifyRequestType::Add) {
            TRY_VOID(add_network_policy(network.policies, std::move(policy)));
        } else if (request.request_type == hcn::ModifyRequestType::Remove) {
            TRY_VOID(remove_policy(network.policies, policy));
        } else {
            return hresult_error(Hresult::RequestUnsupported);
        }
    }
    return {};
}

bool is_in_use(const Transaction& transaction, const std::string& network_id, const IpPrefix& prefix) {
    for (const auto& [id, endpoint] : transaction.model().endpoints) {
        if (endpoint->document.host_compute_network != network_id || is_remote(endpoint->document)) continue;
        for (const hcn::IpConfig& config : endpoint->document.ip_configurations) {
            const auto address = IpAddress::parse(config.ip_address);
            if (address && prefix.contains(*address)) return true;
        }
    }
    return false;
}

Result<void> modify_subnets(const Transaction& transaction, hcn::HostComputeNetwork& network, const hcn::ModifySettingRequest& request) {
    TRY(auto settings, from_tree<hcn::SubnetRequest>(request.settings));
    if (network.ipams.empty()) network.ipams.emplace_back();
    std::vector<hcn::Subnet>& subnets = network.ipams.front().subnets;
    for (hcn::Subnet& subnet : settings.subnets) {
        if (request.request_type == hcn::ModifyRequestType::Add) {
            subnets.push_back(std::move(subnet));
            continue;
        }
        if (request.request_type != hcn::ModifyRequestType::Remove) return hresult_error(Hresult::RequestUnsupported);
        const auto found = std::ranges::find_if(subnets, [&](const hcn::Subnet& other) {
            return same_guid(other.id, subnet.id) || (subnet.id.empty() && other.ip_address_prefix == subnet.ip_address_prefix);
        });
        if (found == subnets.end()) return hresult_error(Hresult::SubnetNotFound);
        TRY(const IpPrefix removed, parse_prefix(found->ip_address_prefix));  // it may be empty where addresses come from elsewhere
        if (is_in_use(transaction, network.id, removed)) return hresult_error(Hresult::EntityHasReferences);
        subnets.erase(found);
    }
    return check_subnets(transaction, network);
}

Result<void> modify_ip_subnets(hcn::HostComputeNetwork& network, Random& random, const hcn::ModifySettingRequest& request) {
    TRY(auto settings, from_tree<hcn::IpSubnetRequest>(request.settings));
    for (hcn::Ipam& ipam : network.ipams) {
        for (hcn::Subnet& subnet : ipam.subnets) {
            if (!same_guid(subnet.id, settings.subnet_id)) continue;
            TRY(const IpPrefix whole, parse_prefix(subnet.ip_address_prefix));
            for (hcn::IpSubnet& part : settings.ip_subnets) {
                const auto same = [&](const hcn::IpSubnet& other) { return other.ip_address_prefix == part.ip_address_prefix; };
                if (request.request_type == hcn::ModifyRequestType::Remove) {
                    if (std::erase_if(subnet.ip_subnets, same) == 0) return hresult_error(Hresult::SubnetNotFound);
                    continue;
                }
                TRY(const IpPrefix prefix, parse_prefix(part.ip_address_prefix));
                if (!whole.contains(prefix.base()) || prefix.length() < whole.length()) return hresult_error(Hresult::InvalidIpSubnet);
                TRY(part.id, id_for(part.id, random));
                subnet.ip_subnets.push_back(std::move(part));
            }
            return {};
        }
    }
    return hresult_error(Hresult::SubnetNotFound);
}

}  // namespace

Result<std::string> create_network(Transaction& transaction, hcn::HostComputeNetwork document) {
    const Host& host = transaction.host();
    Network network;
    network.document = std::move(document);
    hcn::HostComputeNetwork& shown = network.document;
    if (shown.type == Mode::Nat) shown.type.clear();  // zero is left out
    TRY_VOID(check_type(shown));
    TRY(shown.id, id_for(shown.id, host.random));
    TRY_VOID(check_name(transaction, shown));
    if (shown.type.empty()) {
        TRY_VOID(complete_nat(transaction, shown));
    }
    TRY_VOID(check_subnets(transaction, shown));
    TRY_VOID(check_policies(host, shown));
    TRY_VOID(check_mac_pool(transaction, shown));
    if (needs_switch(shown.type)) {
        TRY(network.adapter, choose_adapter(transaction, shown));
    }
    network.ready = network.adapter.empty();
    network.number = transaction.free_number<Network>();
    complete_document(shown, host.profile);
    const std::string id = shown.id;
    transaction.put(std::move(network));
    transaction.notify(NotificationType::NetworkCreate, id);
    return id;
}

Result<void> network_became_ready(Transaction& transaction, const std::string& id) {
    TRY(const Network* found, need_network(transaction.model(), id));
    if (found->ready) return {};
    Network network = *found;
    const auto& adapters = transaction.host().adapters;
    const auto adapter = std::ranges::find(adapters, network.adapter, &Adapter::name);
    if (adapter == adapters.end() || adapter->address.empty()) return hresult_error(Hresult::AdapterNotFound);
    network.ready = true;
    network.management_address = adapter->address;
    if (network.document.type == Mode::Overlay) {
        hcn::DrMacAddressSettings router;
        router.address = make_router_mac(transaction);
        hcn::ProviderAddressSettings provider;
        provider.provider_address = adapter->address;
        add_policy(network.document, make_policy(hcn::NetworkPolicyType::DrMacAddress, router));
        add_policy(network.document, make_policy(hcn::NetworkPolicyType::ProviderAddress, provider));
    }
    transaction.put(std::move(network));
    return {};
}

Result<void> modify_network(Transaction& transaction, const std::string& id, const hcn::ModifySettingRequest& request) {
    TRY(const Network* found, need_network(transaction.model(), id));
    Network network = *found;
    if (request.resource_type == hcn::ModifyResourceType::Policy) {
        TRY_VOID(modify_policies(transaction.host(), network.document, request));
    } else if (request.resource_type == hcn::ModifyResourceType::Subnet) {
        TRY_VOID(modify_subnets(transaction, network.document, request));
    } else if (request.resource_type == hcn::ModifyResourceType::IPSubnet) {
        TRY_VOID(modify_ip_subnets(network.document, transaction.host().random, request));
    } else if (request.resource_type == hcn::ModifyResourceType::Dns) {
        TRY(network.document.dns, from_tree<hcn::Dns>(request.settings));
    } else {
        return hresult_error(Hresult::RequestUnsupported, "Networks have no settings of type \"" + request.resource_type + "\".");
    }
    transaction.put(std::move(network));
    return {};
}

Result<void> remove_network(Transaction& transaction, const std::string& id) {
    TRY(const Network* found, need_network(transaction.model(), id));
    const std::string network_id = found->document.id;
    std::vector<std::string> endpoints;
    for (const auto& [endpoint_id, endpoint] : transaction.model().endpoints) {
        if (endpoint->document.host_compute_network == network_id) endpoints.push_back(endpoint_id);
    }
    for (const std::string& endpoint_id : endpoints) {
        TRY_VOID(remove_endpoint(transaction, endpoint_id));
    }
    transaction.erase<Network>(network_id);
    transaction.notify(NotificationType::NetworkDelete, network_id);
    return {};
}

Result<std::string> remake_network(Transaction& transaction, const std::string& id) {
    TRY(const Network* found, need_network(transaction.model(), id));
    Network network = *found;
    TRY_VOID(remove_network(transaction, id));
    network.document.id = make_guid(transaction.host().random);
    const std::string fresh = network.document.id;
    transaction.put(std::move(network));
    transaction.notify(NotificationType::NetworkCreate, fresh);
    return fresh;
}

}  // namespace porthole::hns::emulator
