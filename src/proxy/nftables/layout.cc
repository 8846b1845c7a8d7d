#include "proxy/nftables/layout.h"

#include <algorithm>
#include <array>

#include "proxy/nftables/elements.h"

namespace porthole::proxy::nftables {
namespace {

#pragma clang diagnostic ignored "-Wc23-extensions"
constexpr char BaseRules[] = {
#embed "base_rules.nft"
};
constexpr std::string_view MarkVariable = "$masquerade_mark";

using enum TableObject::Kind;
using enum TableObject::Filled;

// One map of endpoints for each protocol: the kernel's "any transport protocol" clashes with a rule's match on one of them.
constexpr auto Objects = std::to_array<TableObject>({
    {PodCidrs, Set, "type ipv4_addr", "flags interval"},
    {ServiceCidrs, Set, "type ipv4_addr", "flags interval"},
    {HostServedIps, Set, "type ipv4_addr", ""},
    {LocalPodCidrs, Set, "type ipv4_addr", "flags interval"},
    {ClusterIps, Set, "type ipv4_addr", "", ByServices},
    {HairpinConnections, Set, "type ipv4_addr . ipv4_addr", "", ByServices},
    {FirewallIps, Set, "type ipv4_addr . inet_proto . inet_service", "", ByServices},
    {FirewallAllowedSources, Set, "type ipv4_addr . inet_proto . inet_service . ipv4_addr", "flags interval", ByServices},
    {ServiceIps, Map, "type ipv4_addr . inet_proto . inet_service : verdict", "", ByServices},
    {InternalServiceIps, Map, "type ipv4_addr . inet_proto . inet_service : verdict", "", ByServices},
    {NoEndpointServices, Map, "type ipv4_addr . inet_proto . inet_service : verdict", "", ByServices},
    {AffinityServices, Map, "type ipv4_addr . inet_proto . inet_service : verdict", "", ByServices},
    {EndpointsTcp, Map, "typeof ip daddr . tcp dport . numgen random mod 2 : ip daddr . tcp dport", "", ByServices},
    {EndpointsUdp, Map, "typeof ip daddr . udp dport . numgen random mod 2 : ip daddr . udp dport", "", ByServices},
    {EndpointsSctp, Map, "typeof ip daddr . sctp dport . numgen random mod 2 : ip daddr . sctp dport", "", ByServices},
    {Affinity, Map, "type ipv4_addr . ipv4_addr . inet_proto . inet_service : ipv4_addr . inet_service",
     "flags dynamic,timeout\n\t\ttimeout 3h\n\t\tsize 262144", ByTraffic},
    {RejectChain, Chain, "", ""},
    {"services", Chain, "", ""},
    {"affinity-update", Chain, "", ""},
    {"firewall-check", Chain, "", ""},
    {"service-endpoints-check", Chain, "", ""},
    {"filter-prerouting-pre-dnat", Chain, "type filter hook prerouting priority -110; policy accept;", ""},
    {"filter-output-pre-dnat", Chain, "type filter hook output priority -110; policy accept;", ""},
    {"nat-prerouting", Chain, "type nat hook prerouting priority -100; policy accept;", ""},
    {"nat-output", Chain, "type nat hook output priority -100; policy accept;", ""},
    {"nat-postrouting", Chain, "type nat hook postrouting priority 100; policy accept;", ""},
    {"filter-input", Chain, "type filter hook input priority 0; policy accept;", ""},
    {"filter-forward", Chain, "type filter hook forward priority 0; policy accept;", ""},
    {"filter-output", Chain, "type filter hook output priority 0; policy accept;", ""},
});

// Hooks of an earlier layout. They would go on acting on a table that an older program has left.
constexpr std::string_view FormerBaseChains[] = {"source-prerouting", "source-output"};

std::string_view word(TableObject::Kind kind) {
    constexpr std::string_view Words[] = {"set", "map", "chain"};
    return Words[static_cast<std::size_t>(kind)];
}

std::string declaration(const TableObject& object) {
    std::string text = "\t" + std::string(word(object.kind)) + " " + std::string(object.name) + " {\n";
    for (const std::string_view line : {object.type, object.flags}) {
        if (!line.empty()) text.append("\t\t").append(line).append("\n");
    }
    return text + "\t}\n";
}

}  // namespace

std::span<const TableObject> table_objects() { return Objects; }

std::string declare_and_flush() {
    const std::string table(TableName);
    std::string text = "table ip " + table + " {\n";
    for (const TableObject& object : Objects) text += declaration(object);
    text += "}\n";
    // Chains first: their rules refer to the rest. Base chains keep their hooks.
    for (const TableObject::Kind kind : {Chain, Map, Set}) {
        for (const TableObject& object : Objects) {
            if (object.kind != kind || object.filled == ByTraffic) continue;
            text.append("flush ").append(word(kind)).append(" ip ").append(table).append(" ").append(object.name).append("\n");
        }
    }
    for (const std::string_view chain : FormerBaseChains) {
        for (const char* verb : {"add", "flush", "delete"})
            text.append(verb).append(" chain ip ").append(table).append(" ").append(chain).append("\n");
    }
    return text;
}

std::string base_rules(std::uint32_t masquerade_mark) {
    std::string text(BaseRules, sizeof BaseRules);
    const std::string mark = std::to_string(masquerade_mark);
    for (std::size_t at = 0; (at = text.find(MarkVariable, at)) != text.npos; at += mark.size())
        text.replace(at, MarkVariable.size(), mark);
    return text;
}

std::map<std::string, std::set<std::string>> declared_elements() {
    std::map<std::string, std::set<std::string>> elements;
    for (const TableObject& object : Objects)
        if (object.filled == ByServices) elements[std::string(object.name)];
    return elements;
}

std::map<std::string, std::size_t> base_rule_counts() {
    std::map<std::string, std::size_t> counts;
    for (const TableObject& object : Objects)
        if (object.kind == Chain) counts[std::string(object.name)] = 0;
    // In the file a rule is a line of its own between "chain x {" and "}".
    constexpr std::string_view ChainStart = "\tchain ";
    std::string_view rest(BaseRules, sizeof BaseRules);
    std::size_t* chain = nullptr;
    while (!rest.empty()) {
        const std::size_t end = std::min(rest.find('\n'), rest.size());
        const std::string_view line = rest.substr(0, end);
        rest.remove_prefix(std::min(end + 1, rest.size()));
        if (line.starts_with(ChainStart))
            chain = &counts[std::string(line.substr(ChainStart.size(), line.find(" {") - ChainStart.size()))];
        else if (line == "\t}")
            chain = nullptr;
        else if (chain)
            ++*chain;
    }
    return counts;
}

}  // namespace porthole::proxy::nftables
