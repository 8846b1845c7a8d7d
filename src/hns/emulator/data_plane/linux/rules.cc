#include "hns/emulator/data_plane/linux/rules.h"

#include <fmt/core.h>

#include <map>

#include "netlink/nft_text.h"

namespace porthole::hns::emulator {

namespace {

constexpr const char* ConstantRules = R"(table ip porthole-hns {
	set uplinks { type ifname; }
	set closed { type ifname; }
	set hidden { type ifname; }
	set confined { type ifname; }
	set host-addresses { type ipv4_addr; }
	set vips { type ipv4_addr; }
	set translated { type ipv4_addr; }
	set nat-pods { type ipv4_addr; }
	set selves { type ipv4_addr . ipv4_addr; }
	set encap { type ipv4_addr . ipv4_addr; flags interval; }
	set unserved { type ipv4_addr . ipv4_addr; flags interval; }
	set exceptions { type ipv4_addr . ipv4_addr; flags interval; }
	set destinations { type ipv4_addr . ipv4_addr; flags interval; }
	map outbound-nat { type ipv4_addr : ipv4_addr; }
	map destination-nat { type ipv4_addr : ipv4_addr; }
	map frontends { type ipv4_addr . inet_proto . inet_service : verdict; }
	map outside-frontends { type ipv4_addr . inet_proto . inet_service : verdict; }
	map preserved { type ipv4_addr . inet_proto . inet_service : verdict; }
	map node-ports { type inet_proto . inet_service : verdict; }
	map backends-tcp { typeof ip daddr . tcp dport . numgen random mod 2 : ip daddr . tcp dport; }
	map backends-udp { typeof ip daddr . udp dport . numgen random mod 2 : ip daddr . udp dport; }
	map node-backends-tcp { typeof tcp dport . numgen random mod 2 : ip daddr . tcp dport; }
	map node-backends-udp { typeof udp dport . numgen random mod 2 : ip daddr . udp dport; }
	map kept-backends-tcp { typeof ip daddr . tcp dport . numgen random mod 2 : meta mark; }
	map kept-backends-udp { typeof ip daddr . udp dport . numgen random mod 2 : meta mark; }
	map lb-sources { type ipv4_addr . inet_proto . inet_service : ipv4_addr; }
	map node-sources { type inet_proto . inet_service : ipv4_addr; }
	map host-ports { type inet_proto . inet_service : ipv4_addr . inet_service; }
	map host-ports-at { type ipv4_addr . inet_proto . inet_service : ipv4_addr . inet_service; }
	map tunnels { type ifname : mark; }
	map acl-in { type ifname : verdict; }
	map acl-out { type ifname : verdict; }

	chain unreachable {
		reject with icmp type host-unreachable
	}
	chain own-ports {
		meta l4proto tcp dnat ip to ip daddr . meta l4proto . th dport map @host-ports-at
		meta l4proto udp dnat ip to ip daddr . meta l4proto . th dport map @host-ports-at
		fib daddr type != local return
		meta l4proto tcp dnat ip to meta l4proto . th dport map @host-ports
		meta l4proto udp dnat ip to meta l4proto . th dport map @host-ports
		meta l4proto . th dport vmap @node-ports
	}
	chain from-pods {
		jump own-ports
		ip saddr . ip daddr @encap ip daddr . meta l4proto . th dport vmap @frontends
	}
	chain from-outside {
		jump own-ports
		ip daddr . meta l4proto . th dport vmap @outside-frontends
	}
	chain keep-destination {
		type filter hook prerouting priority -150; policy accept;
		iifname "hnsep*" ip saddr . ip daddr @encap ip daddr . meta l4proto . th dport vmap @preserved
		iifname @uplinks ip daddr . meta l4proto . th dport vmap @preserved
	}
	chain balance {
		type nat hook prerouting priority -100; policy accept;
		iifname "hnsep*" goto from-pods
		iifname @uplinks goto from-outside
	}
	chain tunnel {
		type filter hook prerouting priority -90; policy accept;
		ct status dnat return
		meta mark 0 meta mark set iifname map @tunnels
	}
	chain forward {
		type filter hook forward priority 0; policy accept;
		ct state established,related accept
		ip saddr . ip daddr @selves drop
		iifname @confined oifname != "hns*" drop
		iifname != "hns*" oifname @confined drop
		iifname vmap @acl-out
		oifname vmap @acl-in
		ct status dnat accept
		meta mark & 0x2000000 != 0 accept
		ip saddr . ip daddr @unserved goto unreachable
		ip daddr @vips goto unreachable
		oifname "hnssw*" goto unreachable
		iifname @uplinks oifname "hnsvx*" goto unreachable
		iifname @uplinks oifname @hidden goto unreachable
		oifname @uplinks icmp type echo-request ip saddr @translated ip saddr . ip daddr != @exceptions drop
	}
	chain input {
		type filter hook input priority 0; policy accept;
		ct state established,related accept
		iifname @closed goto unreachable
		iifname vmap @acl-out
	}
	chain output {
		type filter hook output priority 0; policy accept;
		ct state established,related accept
		icmp type { destination-unreachable, time-exceeded } accept
		oifname @closed goto unreachable
		oifname "hnsvx*" goto unreachable
		oifname "hnssw*" goto unreachable
		oifname vmap @acl-in
		ip daddr @vips fib daddr type != local goto unreachable
	}
	chain translate {
		type nat hook postrouting priority 100; policy accept;
		meta l4proto tcp ct status dnat snat ip to ct original ip daddr . meta l4proto . ct original proto-dst map @lb-sources
		meta l4proto udp ct status dnat snat ip to ct original ip daddr . meta l4proto . ct original proto-dst map @lb-sources
		meta l4proto tcp ct status dnat ct original ip daddr @host-addresses snat ip to meta l4proto . ct original proto-dst map @node-sources
		meta l4proto udp ct status dnat ct original ip daddr @host-addresses snat ip to meta l4proto . ct original proto-dst map @node-sources
		meta l4proto { tcp, udp } ip saddr . ip daddr @destinations snat ip to ip saddr map @destination-nat
		oifname != "hns*" ip saddr @nat-pods masquerade
		oifname @uplinks ip saddr . ip daddr @exceptions return
		oifname @uplinks meta l4proto { tcp, udp } snat ip to ip saddr map @outbound-nat
	}
}
)";

/// Of the sets and maps above, those whose elements can be written without nft.
std::map<std::string_view, net::NftTypes> written_directly() {
    std::map<std::string_view, net::NftTypes> found;
    std::string_view rest = ConstantRules;
    while (!rest.empty()) {
        const std::size_t end = std::min(rest.find('\n'), rest.size());
        std::string_view line = rest.substr(0, end);
        rest.remove_prefix(std::min(end + 1, rest.size()));
        // "<tab>set NAME { type TYPES; }"; intervals have flags behind the types, and are all of concatenations.
        const std::size_t body = line.find(" { type"), close = line.find("; ");
        if (body == line.npos || close == line.npos) continue;
        const auto types = net::NftTypes::parse(line.substr(body + 3, close - body - 3), line.contains("flags interval"));
        if (types) found.emplace(line.substr(5, body - 5), *types);
    }
    return found;
}

std::string joined(const std::map<std::string, std::string>& by_set, const char* verb) {
    std::string text;
    for (const auto& [set, elements] : by_set) text += fmt::format("{} element ip {} {} {{ {} }}\n", verb, RuleTable, set, elements);
    return text;
}

void list(std::map<std::string, std::string>& by_set, const Element& element, bool with_data) {
    std::string& text = by_set[element.set];
    if (!text.empty()) text += ", ";
    text += element.key;
    if (with_data && !element.data.empty()) text.append(" : ").append(element.data);
}

std::string define(const Chain& chain) {
    return fmt::format("add chain ip {0} {1}\nflush chain ip {0} {1}\ntable ip {0} {{\n\tchain {1} {{\n{2}\t}}\n}}\n", RuleTable,
                       chain.name, chain.rules);
}

}  // namespace

std::string remove_table() { return fmt::format("add table ip {0}\ndelete table ip {0}\n", RuleTable); }

std::string whole_table(const KernelState& state) {
    std::string text = remove_table() + ConstantRules;
    for (const Chain& chain : state.chains()) text += define(chain);
    std::map<std::string, std::string> added;
    for (const Element& element : state.elements()) list(added, element, true);
    return text + joined(added, "add");
}

std::string table_change(const StateDelta& delta) {
    std::map<std::string, std::string> removed, added;
    std::string chains_added, chains_removed;
    for (const auto& [before, after] : delta.elements) {
        if (before) list(removed, *before, false);
        if (after) list(added, *after, true);
    }
    for (const auto& [before, after] : delta.chains) {
        if (after)
            chains_added += define(*after);
        else
            chains_removed += fmt::format("flush chain ip {0} {1}\ndelete chain ip {0} {1}\n", RuleTable, before->name);
    }
    return chains_added + joined(removed, "delete") + joined(added, "add") + chains_removed;
}

std::optional<std::vector<net::NftChange>> element_changes(const StateDelta& delta) {
    constexpr std::size_t Most = 1000;  // some 80 KiB of messages
    static const std::map<std::string_view, net::NftTypes> types = written_directly();
    if (!delta.chains.empty() || delta.elements.empty() || delta.elements.size() > Most) return std::nullopt;
    std::map<std::string_view, net::NftChange> by_set;
    for (const auto& [before, after] : delta.elements) {
        const std::string& set = before ? before->set : after->set;
        const auto known = types.find(set);
        if (known == types.end()) return std::nullopt;
        net::NftChange& change = by_set.try_emplace(set, net::NftChange{.set = set}).first->second;
        const auto put = [&](const Element& element, bool adds) {
            const auto encoded = known->second.element(element.key, adds ? element.data : "");
            if (encoded) (adds ? change.added : change.removed).push_back(*encoded);
            return encoded.has_value();
        };
        if ((before && !put(*before, false)) || (after && !put(*after, true))) return std::nullopt;
    }
    std::vector<net::NftChange> changes;
    for (auto& [set, change] : by_set) changes.push_back(std::move(change));
    return changes;
}

Chain balancer_chain(const Balancer& balancer) {
    using Kind = Balancer::Kind;
    const bool node_port = balancer.kind == Kind::NodePort, kept = balancer.kind == Kind::KeptDestination;
    Chain chain;
    chain.name = fmt::format("{}-{}-{}", node_port ? "node-port" : kept ? "kept" : "balance", balancer.slots, balancer.distribution);
    for (const char* protocol : {"tcp", "udp"}) {
        // A fixed seed: clients keep their backend when the chain is made anew.
        const std::string hashed = balancer.distribution == 2   ? "ip saddr"
                                   : balancer.distribution == 1 ? "ip saddr . meta l4proto"
                                                                : fmt::format("ip saddr . {0} sport . ip daddr . {0} dport", protocol);
        const std::string slot = fmt::format("jhash {} mod {} seed 0x706f7274", hashed, balancer.slots);
        const std::string key = fmt::format("{}{} dport . {}", node_port ? "" : "ip daddr . ", protocol, slot);
        const char* maps = node_port ? "node-backends" : kept ? "kept-backends" : "backends";
        chain.rules +=
            fmt::format("\t\tmeta l4proto {} {} {} map @{}-{}\n", protocol, kept ? "meta mark set" : "dnat ip to", key, maps, protocol);
    }
    return chain;
}

}  // namespace porthole::hns::emulator
