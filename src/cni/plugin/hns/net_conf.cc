#include "cni/plugin/hns/net_conf.h"

#include <algorithm>
#include <charconv>
#include <map>

#include "base/strings.h"
#include "cni/plugin/errors.h"
#include "cni/plugin/request.h"
#include "hns/hresult.h"
#include "hns/policies.h"

namespace porthole::cni {

using schema::Value;

namespace {

constexpr std::uint64_t ReservedAddresses = 3;  // the network's own, HNS' gateway, the host's endpoint

/// How version 1 called a type of policy, and its members that have other names in version 2.
struct OldPolicy {
    const char* name;
    const char* new_name;
    std::vector<std::pair<const char*, const char*>> members;
};
const std::vector<OldPolicy>& old_policies() {
    static const std::vector<OldPolicy> all{
        {"OutBoundNAT", "OutBoundNAT", {{"ExceptionList", "Exceptions"}, {"VIP", "VirtualIP"}}},
        {"ROUTE", "SDNRoute", {}},
        {"PA", "ProviderAddress", {{"PA", "ProviderAddress"}}},
        {"NAT", "PortMapping", {}},
        {"ACL", "ACL", {{"Protocol", "Protocols"}}},
    };
    return all;
}

std::optional<std::uint32_t> protocol_number(std::string_view name) {
    static const std::map<std::string, std::uint32_t, std::less<>> names{
        {"icmpv4", 1}, {"igmp", 2}, {"tcp", 6}, {"udp", 17}, {"icmpv6", 58}};
    const std::string lower = to_lower(name);
    if (const auto found = names.find(lower); found != names.end()) return found->second;
    std::uint32_t number = 0;
    const auto [end, error] = std::from_chars(lower.data(), lower.data() + lower.size(), number);
    if (lower.empty() || error != std::errc() || end != lower.data() + lower.size()) return std::nullopt;
    return number;
}

Value upgraded(const Value& value) {
    const std::string_view type = member(value, "Type").string_or("");
    const auto old = std::ranges::find_if(old_policies(), [&](const OldPolicy& known) { return equal_ignoring_case(known.name, type); });
    Value settings = Value::object();
    for (const auto& [key, content] : value.as_object()) {
        if (equal_ignoring_case(key, "Type")) continue;
        std::string name = key;
        if (old != old_policies().end()) {
            for (const auto& [from, to] : old->members) {
                if (equal_ignoring_case(from, key)) name = to;
            }
        }
        settings[name] = content;
        // NAT says "TCP" where PortMapping counts.
        if (equal_ignoring_case(key, "Protocol") && content.is_string()) {
            if (const auto number = protocol_number(content.as_string())) settings[name] = *number;
        }
    }
    return Value::object({{"Type", old != old_policies().end() ? Value(old->new_name) : Value(type)}, {"Settings", std::move(settings)}});
}

Result<void> read_policies(const Value& config, std::vector<hcn::Policy>& policies) {
    const auto add_all = [&](const char* list, const auto& wanted) -> Result<void> {
        const Value& entries = member(config, list);
        if (!entries.is_array()) return {};
        for (const Value& entry : entries.as_array()) {
            if (!wanted(member(entry, "name").string_or(""))) continue;
            auto policy = read_endpoint_policy(member(entry, "value"));
            if (!policy) return std::move(policy).error().with_context(list);
            policies.push_back(*std::move(policy));
        }
        return {};
    };
    TRY_VOID(add_all("policies", [](std::string_view name) { return equal_ignoring_case(name, "EndpointPolicy"); }));
    return add_all("AdditionalArgs", [](std::string_view name) { return name.find("Policy") != name.npos; });
}

Result<void> read_port_mappings(const Value& list, std::vector<PortMapping>& mappings) {
    if (!list.is_array()) return {};
    for (const Value& item : list.as_array()) {
        const std::int64_t host = member(item, "hostPort").int_or(0), container = member(item, "containerPort").int_or(0);
        const std::string protocol(member(item, "protocol").string_or("tcp"));
        if (host == 0) continue;
        if (host < 0 || host > 65535 || container <= 0 || container > 65535)
            return cni_error(CniCode::InvalidConfig, "runtimeConfig.portMappings: host port " + std::to_string(host) +
                                                         " to container port " + std::to_string(container) + " is out of range");
        const auto number = protocol_number(protocol.empty() ? "tcp" : protocol);
        if (!number) continue;  // as upstream: what HNS cannot map is left out
        std::string host_ip(member(item, "hostIP").string_or(""));
        if (host_ip == "0.0.0.0" || host_ip == "::") host_ip.clear();
        mappings.push_back({*number, static_cast<std::uint16_t>(host), static_cast<std::uint16_t>(container), std::move(host_ip)});
    }
    return {};
}

Result<std::string> read_mac_prefix(const Value& config, std::string usual) {
    const std::string prefix(member(config, "endpointMacPrefix").string_or(usual));
    const auto hex = [&](std::size_t i) { return std::isxdigit(static_cast<unsigned char>(prefix[i])) != 0; };
    if (prefix.size() != 5 || prefix[2] != '-' || !hex(0) || !hex(1) || !hex(3) || !hex(4))
        return cni_error(CniCode::InvalidConfig, "endpointMacPrefix [" + prefix + "] is invalid, value must be of the format xx-xx");
    return prefix;
}

}  // namespace

Result<hcn::Policy> read_endpoint_policy(const Value& value) {
    if (!value.is_object()) return cni_error(CniCode::InvalidConfig, "a policy's value must be an object");
    const Value form = member(value, "Settings").is_null() ? upgraded(value) : value;
    auto policy = porthole::hns::from_tree<hcn::Policy>(form);
    if (policy) policy = porthole::hns::canonical_policy(porthole::hns::PolicyOwner::Endpoint, *std::move(policy));
    if (!policy)
        return cni_error(CniCode::InvalidConfig, "policy \"" + std::string(member(value, "Type").string_or("")) +
                                                     "\": " + porthole::hns::record_text(policy.error()));
    return policy;
}

Result<WindowsNetConf> read_windows_net_conf(const CniRequest& request) {
    const Value& config = request.config;
    WindowsNetConf conf;
    TRY_VOID(read_policies(config, conf.policies));
    const Value& runtime = member(config, "runtimeConfig");
    conf.dns = read_dns(member(config, "dns"));
    const Value& runtime_dns = member(runtime, "dns");
    const Dns given = read_dns(runtime_dns);
    std::vector<std::string> servers, searches;
    for (const auto& [name, into] : {std::pair("servers", &servers), std::pair("searches", &searches)}) {
        const Value& list = member(runtime_dns, name);
        if (!list.is_array()) continue;
        for (const Value& item : list.as_array()) into->emplace_back(item.string_or(""));
    }
    if (!servers.empty()) conf.dns.nameservers = servers;
    if (!searches.empty()) conf.dns.search = searches;
    if (!given.options.empty()) conf.dns.options = given.options;
    TRY_VOID(read_port_mappings(member(runtime, "portMappings"), conf.port_mappings));
    conf.loopback_dsr = member(config, "loopbackDSR").bool_or(false);
    conf.ip_masq = member(config, "ipMasq").bool_or(false);
    if (const std::string_view cidr = member(config, "ipMasqNetwork").string_or(""); !cidr.empty()) {
        auto prefix = IpPrefix::parse(cidr);
        if (!prefix) return cni_error(CniCode::InvalidConfig, "ipMasqNetwork: " + prefix.error().message);
        conf.ip_masq_network = *prefix;
    }
    TRY(conf.mac_prefix, read_mac_prefix(config, conf.mac_prefix));
    conf.ipam_type = member(member(config, "ipam"), "type").string_or("");
    // It hands out addresses that azure-vnet alone has on the machine's adapter. `environment: azure` is in configurations of wincni.
    if (conf.ipam_type == "azure-vnet-ipam")
        return cni_error(CniCode::InvalidConfig, "ipam: azure-vnet-ipam works with the plugin azure-vnet only; use host-local here");
    return conf;
}

Value with_reserved_gateways(Value config) {
    Value* ipam = config.find("ipam");
    if (!ipam) return config;
    const auto reserve = [](Value& range) {
        const auto subnet = IpPrefix::parse(range.string_at({"subnet"}));
        if (!subnet || subnet->base().bits() - subnet->length() < 3) return;
        const IpAddress lowest = subnet->base().plus(ReservedAddresses);
        const auto start = IpAddress::parse(range.string_at({"rangeStart"}));
        if (!start || *start < lowest) range["rangeStart"] = lowest.to_string();
    };
    reserve(*ipam);
    if (Value* sets = ipam->find("ranges"); sets && sets->is_array()) {
        for (Value& set : sets->as_array()) {
            if (!set.is_array()) continue;
            for (Value& range : set.as_array()) reserve(range);
        }
    }
    return config;
}

}  // namespace porthole::cni
