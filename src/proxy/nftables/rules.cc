#include "proxy/nftables/rules.h"

#include <algorithm>
#include <sstream>

namespace porthole::proxy {

namespace {

/// Slots of the backends for pods and processes of the node, beside those for everyone else.
constexpr std::size_t InsideSlots = 65536;
constexpr Protocol Protocols[] = {Protocol::Tcp, Protocol::Udp, Protocol::Sctp};

std::string text(const FrontendKey& key) {
    return key.address.to_string() + " . " + to_string(key.protocol) + " . " + std::to_string(key.port);
}

std::string text(const Backend& backend) { return backend.address.to_string() + " . " + std::to_string(backend.port); }

const char* endpoints_map(Protocol protocol) {
    switch (protocol) {
        case Protocol::Tcp:
            return "endpoints-tcp";
        case Protocol::Udp:
            return "endpoints-udp";
        case Protocol::Sctp:
            return "endpoints-sctp";
    }
    return "";
}

std::string joined(const auto& items) {
    std::string result;
    for (const auto& item : items) result.append(result.empty() ? "" : ", ").append(item.to_string());
    return result;
}

const char* chain_family(Frontend::Kind kind) {
    switch (kind) {
        case Frontend::Kind::ClusterIp:
            return "cluster-ip";
        case Frontend::Kind::External:
            return "external";
        case Frontend::Kind::ExternalLocal:
            return "local";
    }
    return "";
}

std::string chain_name(const char* family, std::size_t backends, bool sticky) {
    return std::string(family) + "-" + std::to_string(backends) + (sticky ? "-sticky" : "");
}

std::string remember_chain(const Frontend& frontend) { return "remember-" + std::to_string(frontend.affinity->count()); }

/// Keeps each backend in its slot; gaps are filled from the end, newcomers come last.
std::vector<Backend> assign_slots(std::vector<Backend> slots, const std::vector<Backend>& wanted) {
    const auto is_wanted = [&](const Backend& backend) { return std::ranges::binary_search(wanted, backend); };
    for (std::size_t i = 0; i < slots.size();) {
        if (is_wanted(slots[i])) {
            ++i;
        } else {
            slots[i] = slots.back();
            slots.pop_back();
        }
    }
    for (const Backend& backend : wanted) {
        if (std::ranges::find(slots, backend) == slots.end()) slots.push_back(backend);
    }
    return slots;
}

/// Of the chains in a text of ours: a rule is a line between "chain x {" and "}" that gives no hook.
std::map<std::string, std::size_t> count_rules(const std::string& text) {
    std::map<std::string, std::size_t> counts;
    std::istringstream lines(text);
    std::string line;
    std::size_t* chain = nullptr;
    while (std::getline(lines, line)) {
        if (line.starts_with("\tchain "))
            chain = &counts[line.substr(7, line.find(" {") - 7)];
        else if (line == "\t}")
            chain = nullptr;
        else if (chain && !line.starts_with("\t\ttype "))
            ++*chain;
    }
    return counts;
}

}  // namespace

/// Collects the parts of one transaction: chains first, then what goes, then what comes, each map in one command.
class RuleSet::Batch {
public:
    explicit Batch(const std::string& table) : table_(table) {}

    void chain(const std::string& name, const std::string& rules) {
        chains_.append("add chain ip ").append(table_).append(" ").append(name).append("\n");
        chains_.append("flush chain ip ").append(table_).append(" ").append(name).append("\n");
        chains_.append("table ip ").append(table_).append(" {\n\tchain ").append(name).append(" {\n").append(rules).append("\t}\n}\n");
    }
    void add(const Element& element) {
        std::string& list = added_[element.set];
        list.append(list.empty() ? "" : ", ").append(element.key);
        if (!element.data.empty()) list.append(" : ").append(element.data);
    }
    void remove(const Element& element) {
        std::string& list = removed_[element.set];
        list.append(list.empty() ? "" : ", ").append(element.key);
    }
    std::string take() const {
        std::string text = chains_;
        for (const auto& [set, list] : removed_) command("delete", set, list, text);
        for (const auto& [set, list] : added_) command("add", set, list, text);
        return text;
    }

private:
    void command(const char* verb, const std::string& set, const std::string& list, std::string& text) const {
        text.append(verb).append(" element ip ").append(table_).append(" ").append(set).append(" { ").append(list).append(" }\n");
    }
    const std::string& table_;
    std::string chains_;
    std::map<std::string, std::string> removed_, added_;
};

std::string RuleSet::full(const ServiceTable& table, bool from_scratch) {
    const std::string& name = options_.table;
    std::string text = "add table ip " + name + "\n";
    if (from_scratch) text += "delete table ip " + name + "\nadd table ip " + name + "\n";
    const std::string base = base_rules();
    text += base;

    auto before = std::exchange(programmed_, {});
    rule_counts_ = count_rules(base);
    cluster_ips_.clear();
    hairpins_.clear();
    neighbours_.clear();
    Batch batch(name);
    for (const auto& [key, frontend] : table.frontends()) {
        if (const auto old = before.find(key); old != before.end()) note_loss(key, &old->second, &frontend);
        program(key, &frontend, batch);
    }
    for (const auto& [key, old] : before) {
        if (!table.frontends().contains(key)) note_loss(key, &old, nullptr);
    }
    program_addresses(table, batch);
    return text + batch.take();
}

std::string RuleSet::change(const ServiceTable& table, const std::set<FrontendKey>& changed) {
    Batch batch(options_.table);
    for (const FrontendKey& key : changed) {
        const auto now = table.frontends().find(key);
        const auto before = programmed_.find(key);
        const Frontend* frontend = now == table.frontends().end() ? nullptr : &now->second;
        note_loss(key, before == programmed_.end() ? nullptr : &before->second, frontend);
        program(key, frontend, batch);
    }
    program_addresses(table, batch);
    return batch.take();
}

void RuleSet::note_loss(const FrontendKey& key, const Programmed* before, const Frontend* after) {
    Loss loss{.frontend = key};
    loss.first_backends = after && !after->backends.empty() && (!before || before->slots.empty());
    if (before) {
        loss.sticky = before->frontend.affinity.has_value();
        const auto lost = [&](const std::vector<Backend>& slots) {
            for (const Backend& backend : slots) {
                const bool kept = after && (std::ranges::binary_search(after->backends, backend) ||
                                            std::ranges::binary_search(after->inside_backends, backend));
                if (!kept) loss.lost.push_back(backend);
            }
        };
        lost(before->slots);
        lost(before->inside_slots);
    }
    if (loss.first_backends || !loss.lost.empty()) losses_.push_back(std::move(loss));
}

void RuleSet::program(const FrontendKey& key, const Frontend* frontend, Batch& batch) {
    if (frontend && std::ranges::find(options_.served_here, key.address) != options_.served_here.end()) frontend = nullptr;
    const auto [entry, added] = programmed_.try_emplace(key);
    const std::vector<Element> before = added ? std::vector<Element>() : elements(key, entry->second);
    const bool was_cluster_ip = !added && entry->second.frontend.kind == Frontend::Kind::ClusterIp;

    std::vector<Element> after;
    if (frontend) {
        Programmed& programmed = entry->second;
        programmed.frontend = *frontend;
        programmed.slots = assign_slots(std::move(programmed.slots), frontend->backends);
        programmed.inside_slots = assign_slots(std::move(programmed.inside_slots), frontend->inside_backends);
        after = elements(key, programmed);
        const bool sticky = frontend->affinity.has_value();
        if (!programmed.slots.empty()) require_chain(chain_name(chain_family(frontend->kind), programmed.slots.size(), sticky), batch);
        if (!programmed.inside_slots.empty()) require_chain(chain_name("inside", programmed.inside_slots.size(), sticky), batch);
        if (sticky) require_chain(remember_chain(*frontend), batch);
    } else {
        programmed_.erase(entry);
    }
    for (const Element& element : before) {
        if (std::ranges::find(after, element) == after.end()) batch.remove(element);
    }
    for (const Element& element : after) {
        if (std::ranges::find(before, element) == before.end()) batch.add(element);
    }

    const bool is_cluster_ip = frontend && frontend->kind == Frontend::Kind::ClusterIp;
    if (is_cluster_ip && !was_cluster_ip && ++cluster_ips_[key.address] == 1) batch.add({"cluster-ips", key.address.to_string(), ""});
    if (was_cluster_ip && !is_cluster_ip && --cluster_ips_[key.address] == 0) {
        cluster_ips_.erase(key.address);
        batch.remove({"cluster-ips", key.address.to_string(), ""});
    }
}

void RuleSet::program_addresses(const ServiceTable& table, Batch& batch) {
    const auto element = [](const IpAddress& address) {
        return Element{"hairpins", address.to_string() + " . " + address.to_string(), ""};
    };
    for (const IpAddress& address : table.local_addresses()) {
        if (hairpins_.insert(address).second) batch.add(element(address));
    }
    std::erase_if(hairpins_, [&](const IpAddress& address) {
        if (table.local_addresses().contains(address)) return false;
        batch.remove(element(address));
        return true;
    });

    std::set<IpPrefix> neighbours;
    if (options_.masquerade_neighbours) neighbours.insert(table.node().pod_prefixes.begin(), table.node().pod_prefixes.end());
    for (const IpPrefix& prefix : neighbours_) {
        if (!neighbours.contains(prefix)) batch.remove({"neighbours", prefix.to_string(), ""});
    }
    for (const IpPrefix& prefix : neighbours) {
        if (!neighbours_.contains(prefix)) batch.add({"neighbours", prefix.to_string(), ""});
    }
    neighbours_ = std::move(neighbours);
}

std::vector<RuleSet::Element> RuleSet::elements(const FrontendKey& key, const Programmed& programmed) const {
    std::vector<Element> result;
    const Frontend& frontend = programmed.frontend;
    const std::string name = text(key);
    const bool sticky = frontend.affinity.has_value();
    if (programmed.slots.empty()) {
        result.push_back({"unanswered", name, frontend.drop_unanswered ? "drop" : "goto refuse"});
    } else {
        result.push_back({"frontends", name, "goto " + chain_name(chain_family(frontend.kind), programmed.slots.size(), sticky)});
    }
    if (!programmed.inside_slots.empty()) {
        result.push_back({"inside-frontends", name, "goto " + chain_name("inside", programmed.inside_slots.size(), sticky)});
    }
    if (sticky) result.push_back({"remember", name, "goto " + remember_chain(frontend)});
    const std::string slot_name = key.address.to_string() + " . " + std::to_string(key.port) + " . ";
    for (std::size_t i = 0; i < programmed.slots.size(); ++i) {
        result.push_back({endpoints_map(key.protocol), slot_name + std::to_string(i), text(programmed.slots[i])});
    }
    for (std::size_t i = 0; i < programmed.inside_slots.size(); ++i) {
        result.push_back({endpoints_map(key.protocol), slot_name + std::to_string(InsideSlots + i), text(programmed.inside_slots[i])});
    }
    if (!frontend.source_ranges.empty()) result.push_back({"restricted", name, ""});
    for (const IpPrefix& range : frontend.source_ranges) {
        result.push_back({"allowed-sources", name + " . " + range.to_string(), ""});
    }
    return result;
}

void RuleSet::require_chain(const std::string& name, Batch& batch) {
    if (rule_counts_.contains(name)) return;
    std::string rules;
    const auto rule = [&](const std::string& line) { rules.append("\t\t").append(line).append("\n"); };
    const std::string mark = "meta mark set meta mark or " + std::to_string(options_.masquerade_mark);
    const bool inside = name.starts_with("inside-"), sticky = name.ends_with("-sticky");
    if (name.starts_with("remember-")) {
        const std::string seconds = name.substr(name.find('-') + 1) + "s";
        for (const Protocol protocol : Protocols) {
            rule(std::string("meta l4proto ") + to_string(protocol) +
                 " update @affinity { ct original ip saddr . ct original ip daddr . meta l4proto . ct original proto-dst timeout " +
                 seconds + " : ip daddr . th dport }");
        }
        rule_counts_[name] = static_cast<std::size_t>(std::ranges::count(rules, '\n'));
        batch.chain(name, rules);
        return;
    }
    if (name.starts_with("external-")) rule(mark);
    if (inside || name.starts_with("cluster-ip-")) rule("ip saddr != @pods fib saddr type != local " + mark);
    const std::size_t digits = name.find_first_of("0123456789");
    const std::string count = std::to_string(std::stoul(name.substr(digits)));
    const std::string offset = inside ? " offset " + std::to_string(InsideSlots) : "";
    for (const Protocol protocol : Protocols) {
        const std::string name = to_string(protocol);
        if (sticky) rule("meta l4proto " + name + " dnat ip to ip saddr . ip daddr . meta l4proto . th dport map @affinity");
        rule("dnat ip to ip daddr . " + name + " dport . numgen random mod " + count + offset + " map @endpoints-" + name);
    }
    rule_counts_[name] = static_cast<std::size_t>(std::ranges::count(rules, '\n'));
    batch.chain(name, rules);
}

std::string RuleSet::base_rules() const {
    const auto set = [](const std::string& name, const std::string& type, const std::string& more = "") {
        return "\tset " + name + " {\n\t\ttype " + type + "\n" + (more.empty() ? "" : "\t\t" + more + "\n") + "\t}\n";
    };
    const auto map = [](const std::string& name, const std::string& type) { return "\tmap " + name + " {\n\t\t" + type + "\n\t}\n"; };
    const std::string frontend = "ipv4_addr . inet_proto . inet_service";
    const std::string& table = options_.table;
    std::string text = "table ip " + table + " {\n";
    text += set("pods", "ipv4_addr", "flags interval");
    text += set("service-addresses", "ipv4_addr", "flags interval");
    text += set("served-here", "ipv4_addr");
    text += set("neighbours", "ipv4_addr", "flags interval");
    text += set("cluster-ips", "ipv4_addr");
    text += set("hairpins", "ipv4_addr . ipv4_addr");
    text += set("restricted", frontend);
    text += set("allowed-sources", frontend + " . ipv4_addr", "flags interval");
    text += map("frontends", "type " + frontend + " : verdict");
    text += map("inside-frontends", "type " + frontend + " : verdict");
    text += map("unanswered", "type " + frontend + " : verdict");
    text += map("remember", "type " + frontend + " : verdict");
    // One map for each protocol: the kernel's "any transport protocol" clashes with a rule's match on one of them.
    for (const Protocol protocol : Protocols) {
        const std::string name = to_string(protocol);
        text += map("endpoints-" + name, "typeof ip daddr . " + name + " dport . numgen random mod 2 : ip daddr . " + name + " dport");
    }
    text += map("affinity",
                "type ipv4_addr . " + frontend + " : ipv4_addr . inet_service\n\t\tflags dynamic,timeout\n\t\ttimeout 3h\n\t\tsize 262144");
    text +=
        "\tchain refuse {\n\t}\n\tchain services {\n\t}\n\tchain remember-client {\n\t}\n\tchain check-source {\n\t}\n\tchain no-taker "
        "{\n\t}\n";
    // Base chains keep their hooks when flushed; the rules follow below.
    const auto base_chain = [&](const char* name, const char* hook) {
        text += std::string("\tchain ") + name + " {\n\t\ttype " + hook + "; policy accept;\n\t}\n";
    };
    base_chain("source-prerouting", "filter hook prerouting priority -110");
    base_chain("source-output", "filter hook output priority -110");
    base_chain("nat-prerouting", "nat hook prerouting priority -100");
    base_chain("nat-output", "nat hook output priority -100");
    base_chain("nat-postrouting", "nat hook postrouting priority 100");
    base_chain("filter-input", "filter hook input priority 0");
    base_chain("filter-forward", "filter hook forward priority 0");
    base_chain("filter-output", "filter hook output priority 0");
    text += "}\n";

    for (const char* name : {"refuse", "services", "remember-client", "check-source", "no-taker", "source-prerouting", "source-output",
                             "nat-prerouting", "nat-output", "nat-postrouting", "filter-input", "filter-forward", "filter-output"}) {
        text += "flush chain ip " + table + " " + name + "\n";
    }
    for (const char* name :
         {"frontends", "inside-frontends", "unanswered", "remember", "endpoints-tcp", "endpoints-udp", "endpoints-sctp"}) {
        text += "flush map ip " + table + " " + name + "\n";
    }
    for (const char* name :
         {"pods", "service-addresses", "served-here", "neighbours", "cluster-ips", "hairpins", "restricted", "allowed-sources"}) {
        text += "flush set ip " + table + " " + name + "\n";
    }

    const auto fill = [&](const char* name, const std::string& list) {
        if (!list.empty()) text += "add element ip " + table + " " + name + " { " + list + " }\n";
    };
    fill("pods", joined(options_.pod_prefixes));
    fill("service-addresses", joined(options_.service_prefixes));
    fill("served-here", joined(options_.served_here));

    const std::string mark = std::to_string(options_.masquerade_mark);
    text += "table ip " + table + R"( {
	chain refuse {
		meta l4proto tcp reject with tcp reset
		reject with icmp port-unreachable
	}
	chain check-source {
		ip daddr . meta l4proto . th dport @restricted ip daddr . meta l4proto . th dport . ip saddr != @allowed-sources drop
	}
	chain source-prerouting {
		ct state new goto check-source
	}
	chain source-output {
		ct state new goto check-source
	}
	chain services {
		ip saddr @pods ip daddr . meta l4proto . th dport vmap @inside-frontends
		fib saddr type local ip daddr . meta l4proto . th dport vmap @inside-frontends
		ip daddr . meta l4proto . th dport vmap @frontends
	}
	chain nat-prerouting {
		goto services
	}
	chain nat-output {
		goto services
	}
	chain nat-postrouting {
		meta mark & )" +
            mark + " == " + mark + " meta mark set meta mark xor " + mark + R"( masquerade fully-random
		ip saddr . ip daddr @hairpins masquerade fully-random
		ct status dnat ip saddr @neighbours ip daddr @neighbours masquerade fully-random
	}
	chain remember-client {
		meta l4proto tcp ct original ip daddr . meta l4proto . ct original proto-dst vmap @remember
		meta l4proto udp ct original ip daddr . meta l4proto . ct original proto-dst vmap @remember
		meta l4proto sctp ct original ip daddr . meta l4proto . ct original proto-dst vmap @remember
	}
	chain no-taker {
		ip daddr . meta l4proto . th dport vmap @unanswered
		ip daddr @cluster-ips goto refuse
		ip daddr @service-addresses meta l4proto udp reject with icmp port-unreachable
		ip daddr @service-addresses reject with icmp host-unreachable
	}
	chain filter-input {
		ct state established,related return
		ip daddr @served-here return
		goto no-taker
	}
	chain filter-forward {
		ct state established,related return
		ct status dnat goto remember-client
		goto no-taker
	}
	chain filter-output {
		ct state established,related return
		ct status dnat goto remember-client
		fib daddr type local return
		goto no-taker
	}
}
)";
    return text;
}

std::map<std::string, std::set<std::string>> RuleSet::expected_elements() const {
    std::map<std::string, std::set<std::string>> expected;
    for (const auto& [key, programmed] : programmed_) {
        for (const Element& element : elements(key, programmed)) {
            expected[element.set].insert(element.data.empty() ? element.key : element.key + " : " + element.data);
        }
    }
    for (const auto& [address, count] : cluster_ips_) expected["cluster-ips"].insert(address.to_string());
    for (const IpAddress& address : hairpins_) expected["hairpins"].insert(address.to_string() + " . " + address.to_string());
    return expected;
}

}  // namespace porthole::proxy
