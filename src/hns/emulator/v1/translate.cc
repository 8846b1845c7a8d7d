#include "hns/emulator/v1/translate.h"

#include <algorithm>

#include "base/strings.h"
#include "base/values/ip.h"
#include "hns/hresult.h"
#include "schema/convert.h"

namespace porthole::hns::emulator::v1 {
namespace {

constexpr std::string_view EndpointPath = "/endpoints/";

/// States of an endpoint.
enum EndpointState : std::uint32_t { Created = 1, Attached = 2, AttachedSharing = 3 };

std::vector<schema::Value> from_policies(const std::vector<hcn::Policy>& policies) {
    std::vector<schema::Value> flat;
    for (const hcn::Policy& policy : policies) flat.push_back(from_policy(policy));
    return flat;
}

Result<std::vector<hcn::Policy>> to_policies(const std::vector<schema::Value>& flat) {
    std::vector<hcn::Policy> policies;
    for (const schema::Value& item : flat) {
        TRY(auto policy, to_policy(item));
        policies.push_back(std::move(policy));
    }
    return policies;
}

bool is_v4(const std::string& address) { return address.find(':') == std::string::npos; }

hcn::Route default_route(const std::string& next_hop) {
    hcn::Route route;
    route.next_hop = next_hop;
    route.destination_prefix = is_v4(next_hop) ? "0.0.0.0/0" : "::/0";
    return route;
}

/// "" and 0.0.0.0 mean: no gateway.
bool is_gateway(const std::string& address) { return !address.empty() && address != "0.0.0.0" && address != "::"; }

std::string gateway_of(const std::vector<hcn::Route>& routes, bool v4) {
    for (const hcn::Route& route : routes) {
        if (is_v4(route.next_hop) == v4 && route.destination_prefix.ends_with("/0")) return route.next_hop;
    }
    return "";
}

std::vector<std::string> references(const std::vector<std::string>& endpoints) {
    std::vector<std::string> paths;
    for (const std::string& id : endpoints) paths.push_back(std::string(EndpointPath) + id);
    return paths;
}

Result<std::vector<std::string>> referenced(const hcn1::PolicyList& list) {
    std::vector<std::string> ids;
    for (const std::string& path : list.references) {
        if (!path.starts_with(EndpointPath)) return hresult_error(Hresult::InvalidJsonReference);
        ids.push_back(path.substr(EndpointPath.size()));
    }
    return ids;
}

Result<const schema::Value*> only_policy(const hcn1::PolicyList& list) {
    if (list.policies.size() != 1) return hresult_error(Hresult::InvalidPolicy, "A policy list holds one policy.");
    return &list.policies.front();
}

hcn1::Subnet from_subnet(const hcn::Subnet& subnet) {
    hcn1::Subnet old;
    old.id = subnet.id;
    old.address_prefix = subnet.ip_address_prefix;
    old.gateway_address = gateway_of(subnet.routes, is_v4(subnet.ip_address_prefix));
    old.policies = from_policies(subnet.policies);
    return old;
}

Result<hcn::Subnet> to_subnet(const hcn1::Subnet& old) {
    hcn::Subnet subnet;
    subnet.id = old.id;
    subnet.ip_address_prefix = old.address_prefix;
    if (!old.address_prefix.empty() && old.gateway_address.empty()) {
        return hresult_error(Hresult::InvalidSubnet, "The subnet is invalid: it needs a gateway.");
    }
    if (is_gateway(old.gateway_address)) subnet.routes.push_back(default_route(old.gateway_address));
    TRY(subnet.policies, to_policies(old.policies));
    return subnet;
}

}  // namespace

hcn1::Network from_network(const Network& network) {
    const hcn::HostComputeNetwork& document = network.document;
    hcn1::Network old;
    old.id = document.id;
    old.name = document.name;
    old.type = std::string(type_of(document));
    old.network_adapter_name = network.adapter;
    old.management_ip = network.management_address;
    for (const hcn::Policy& policy : document.policies) {
        if (policy.type == hcn::NetworkPolicyType::NetAdapterName) continue;
        old.policies.push_back(from_policy(policy));
    }
    for (const hcn::MacRange& range : document.mac_pool.ranges) {
        hcn1::MacPool pool;
        pool.start_mac_address = range.start_mac_address;
        pool.end_mac_address = range.end_mac_address;
        old.mac_pools.push_back(std::move(pool));
    }
    for (const hcn::Ipam& ipam : document.ipams) {
        for (const hcn::Subnet& subnet : ipam.subnets) old.subnets.push_back(from_subnet(subnet));
    }
    old.dns_suffix = document.dns.domain;
    old.dns_server_list = join(document.dns.server_list, ",");
    return old;
}

Result<hcn::HostComputeNetwork> to_network(const hcn1::Network& old) {
    hcn::HostComputeNetwork document;
    document.id = old.id;
    document.name = old.name;
    TRY(const auto typed, from_tree<hcn::HostComputeNetwork>(schema::Value::object({{"Type", old.type}})));
    document.type = typed.type;  // in any case: wincni writes "l2bridge"
    TRY(document.policies, to_policies(old.policies));
    if (!old.network_adapter_name.empty()) {
        hcn::NetAdapterNameSettings adapter;
        adapter.network_adapter_name = old.network_adapter_name;
        document.policies.push_back(make_policy(hcn::NetworkPolicyType::NetAdapterName, adapter));
    }
    for (const hcn1::MacPool& pool : old.mac_pools) {
        hcn::MacRange range;
        range.start_mac_address = pool.start_mac_address;
        range.end_mac_address = pool.end_mac_address;
        document.mac_pool.ranges.push_back(std::move(range));
    }
    if (!old.subnets.empty()) document.ipams.emplace_back();
    for (const hcn1::Subnet& subnet : old.subnets) {
        TRY(auto added, to_subnet(subnet));
        document.ipams.front().subnets.push_back(std::move(added));
    }
    document.dns.domain = old.dns_suffix;
    document.dns.server_list = split_list(old.dns_server_list);
    return document;
}

hcn1::Endpoint from_endpoint(const Model& model, const Endpoint& endpoint) {
    const hcn::HostComputeEndpoint& document = endpoint.document;
    hcn1::Endpoint old;
    old.id = document.id;
    old.name = document.name;
    old.virtual_network = document.host_compute_network;
    if (const Network* network = find(model.networks, document.host_compute_network)) old.virtual_network_name = network->document.name;
    old.policies = from_policies(document.policies);
    old.mac_address = document.mac_address;
    for (const hcn::IpConfig& config : document.ip_configurations) {
        (is_v4(config.ip_address) ? old.ip_address : old.ipv6_address) = config.ip_address;
        (is_v4(config.ip_address) ? old.prefix_length : old.ipv6_prefix_length) = config.prefix_length;
    }
    old.gateway_address = gateway_of(document.routes, true);
    old.gateway_address_v6 = gateway_of(document.routes, false);
    old.dns_suffix = document.dns.domain.empty() ? join(document.dns.search, ",") : document.dns.domain;
    old.dns_server_list = join(document.dns.server_list, ",");
    old.is_remote_endpoint = is_remote(document);
    old.disable_icc = (document.flags & EndpointFlags::DisableInterComputeCommunication) != 0;
    old.enable_low_metric = (document.flags & EndpointFlags::EnableLowInterfaceMetric) != 0;
    old.namespace_.id = document.host_compute_namespace;
    old.shared_containers = endpoint.containers;
    old.state = !endpoint.is_attached() ? Created : endpoint.containers.size() > 1 ? AttachedSharing : Attached;
    return old;
}

Result<hcn::HostComputeEndpoint> to_endpoint(const hcn1::Endpoint& old) {
    hcn::HostComputeEndpoint document;
    document.id = old.id;
    document.name = old.name;
    document.host_compute_network = old.virtual_network;
    TRY(document.policies, to_policies(old.policies));
    document.mac_address = old.mac_address;
    const auto add = [&](const std::string& address, std::uint32_t prefix_length) {
        if (address.empty()) return;
        hcn::IpConfig config;
        config.ip_address = address;
        config.prefix_length = prefix_length;
        document.ip_configurations.push_back(std::move(config));
    };
    add(old.ip_address, old.prefix_length);
    add(old.ipv6_address, old.ipv6_prefix_length);
    for (const std::string& gateway : {old.gateway_address, old.gateway_address_v6}) {
        if (is_gateway(gateway)) document.routes.push_back(default_route(gateway));
    }
    document.dns.domain = old.dns_domain.empty() ? old.dns_suffix : old.dns_domain;
    document.dns.search = split_list(old.dns_suffix);
    document.dns.server_list = split_list(old.dns_server_list);
    if (old.is_remote_endpoint) document.flags |= EndpointFlags::RemoteEndpoint;
    if (old.disable_icc) document.flags |= EndpointFlags::DisableInterComputeCommunication;
    if (old.enable_low_metric) document.flags |= EndpointFlags::EnableLowInterfaceMetric;
    return document;
}

hcn1::PolicyList from_load_balancer(const LoadBalancer& balancer) {
    const hcn::HostComputeLoadBalancer& document = balancer.document;
    hcn1::PolicyList list;
    list.id = document.id;
    list.references = references(document.host_compute_endpoints);
    for (const hcn::LoadBalancerPortMapping& mapping : document.port_mappings) {
        hcn1::ElbPolicy policy;
        policy.type = "ELB";
        policy.protocol = mapping.protocol;
        policy.internal_port = mapping.internal_port;
        policy.external_port = mapping.external_port;
        policy.source_vip = document.source_vip;
        policy.vips = document.frontend_vips;
        policy.ilb = (mapping.flags & PortMappingFlags::EnableInternalLoadBalancer) != 0;
        policy.is_dsr = (document.flags & LoadBalancerFlags::EnableDirectServerReturn) != 0;
        list.policies.push_back(schema::to_value(policy));
    }
    return list;
}

hcn1::PolicyList from_route(const SdnRoute& route) {
    hcn1::PolicyList list;
    list.id = route.document.id;
    list.references = references(route.document.host_compute_endpoints);
    for (const hcn::SdnRouteSetting& setting : route.document.setting) {
        hcn1::RoutePolicy policy;
        policy.type = "ROUTE";
        policy.destination_prefix = setting.destination_prefix;
        policy.next_hop = setting.next_hop;
        policy.need_encap = setting.need_encap;
        list.policies.push_back(schema::to_value(policy));
    }
    return list;
}

hcn1::Namespace from_namespace(const Namespace& space) {
    hcn1::Namespace old;
    old.id = space.document.id;
    old.is_default = space.document.type == hcn::NamespaceType::HostDefault;
    old.compartment_id = space.document.namespace_id;
    for (const hcn::NamespaceResource& resource : space.document.resources) {
        old.resource_list.push_back(
            schema::Value::object({{"Type", resource.type}, {"Data", schema::Value::object({{"Id", resource.data.id}})}}));
    }
    return old;
}

bool is_load_balancer(const hcn1::PolicyList& list) {
    return !list.policies.empty() && schema::at(list.policies.front(), "Type").string_or("") == "ELB";
}

Result<hcn::HostComputeLoadBalancer> to_load_balancer(const hcn1::PolicyList& list) {
    TRY(const schema::Value* flat, only_policy(list));
    TRY(const auto policy, from_tree<hcn1::ElbPolicy>(*flat));
    hcn::HostComputeLoadBalancer document;
    document.id = list.id;
    TRY(document.host_compute_endpoints, referenced(list));
    document.source_vip = policy.source_vip;
    document.frontend_vips = policy.vips;
    if (policy.is_dsr) document.flags |= LoadBalancerFlags::EnableDirectServerReturn;
    if (!policy.vips.empty() && !is_v4(policy.vips.front())) document.flags |= LoadBalancerFlags::Ipv6;
    hcn::LoadBalancerPortMapping mapping;
    mapping.protocol = policy.protocol;
    mapping.internal_port = policy.internal_port;
    mapping.external_port = policy.external_port;
    if (policy.ilb) mapping.flags |= PortMappingFlags::EnableInternalLoadBalancer;
    document.port_mappings.push_back(mapping);
    return document;
}

Result<hcn::HostComputeRoute> to_route(const hcn1::PolicyList& list) {
    TRY(const schema::Value* flat, only_policy(list));
    TRY(const auto policy, from_tree<hcn1::RoutePolicy>(*flat));
    if (policy.type != "ROUTE") return hresult_error(Hresult::InvalidPolicyType, "The policy type \"" + policy.type + "\" is invalid.");
    hcn::HostComputeRoute document;
    document.id = list.id;
    TRY(document.host_compute_endpoints, referenced(list));
    hcn::SdnRouteSetting setting;
    setting.destination_prefix = policy.destination_prefix;
    setting.next_hop = policy.next_hop;
    setting.need_encap = policy.need_encap;
    document.setting.push_back(std::move(setting));
    return document;
}

}  // namespace porthole::hns::emulator::v1
