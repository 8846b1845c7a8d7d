#include "proxy/nftables/rules.h"

#include <algorithm>
#include <tuple>

#include "proxy/nftables/layout.h"

namespace porthole::proxy::nftables {
namespace {

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
    const std::set<Backend> present(slots.begin(), slots.end());
    for (const Backend& backend : wanted) {
        if (!present.contains(backend)) slots.push_back(backend);
    }
    return slots;
}

/// Without the ranges that lie inside of others: the kernel refuses overlapping intervals, and with them the whole transaction. By address.
std::vector<IpPrefix> disjoint(std::vector<IpPrefix> ranges) {
    std::ranges::sort(ranges);  // a range comes before those that lie inside of it, and nothing else in between
    std::vector<IpPrefix> result;
    for (const IpPrefix& range : ranges)
        if (result.empty() || !result.back().contains(range.base())) result.push_back(range);
    return result;
}

/// Those of `some` that are not among `others`, in their order.
void append_missing(const std::vector<Element>& some, const std::vector<Element>& others, std::vector<Element>& into) {
    using Parts = std::tuple<std::string_view, std::string_view, std::string_view>;
    const auto parts_of = [](const Element& element) { return Parts(element.set, element.key, element.data); };
    std::set<Parts> known;
    for (const Element& element : others) known.insert(parts_of(element));
    for (const Element& element : some)
        if (!known.contains(parts_of(element))) into.push_back(element);
}

std::string command(const char* verb, std::string_view set, const std::string& elements) {
    return std::string(verb).append(" element ip ").append(TableName).append(" ").append(set).append(" { ").append(elements).append(" }\n");
}

constexpr Protocol Protocols[] = {Protocol::Tcp, Protocol::Udp, Protocol::Sctp};

std::string_view word(ChainSpec::Purpose purpose) {
    constexpr std::string_view Words[] = {"cluster-ip", "external", "local", "internal", "affinity"};
    return Words[static_cast<std::size_t>(purpose)];
}

std::vector<std::string> update_rules(std::chrono::seconds time) {
    std::vector<std::string> rules;
    for (const Protocol protocol : Protocols) {
        rules.push_back(std::string("meta l4proto ") + to_string(protocol) +
                        " update @affinity { ct original ip saddr . ct original ip daddr . meta l4proto . ct original proto-dst timeout " +
                        std::to_string(time.count()) + "s : ip daddr . th dport }");
    }
    return rules;
}

}  // namespace

void Changes::chain(const std::string& name, const std::vector<std::string>& rules) {
    chains.append("add chain ip ").append(TableName).append(" ").append(name).append("\n");
    chains.append("flush chain ip ").append(TableName).append(" ").append(name).append("\n");
    chains.append("table ip ").append(TableName).append(" {\n\tchain ").append(name).append(" {\n");
    for (const std::string& rule : rules) chains.append("\t\t").append(rule).append("\n");
    chains.append("\t}\n}\n");
}

std::string Changes::text() const {
    std::map<std::string_view, std::string> gone, come;
    const auto append = [](std::string& list, const std::string& element) { list.append(list.empty() ? "" : ", ").append(element); };
    for (const Element& element : removed) append(gone[element.set], element.key);
    for (const Element& element : added) append(come[element.set], element.text());
    std::string text = chains;
    for (const auto& [set, list] : gone) text += command("delete", set, list);
    for (const auto& [set, list] : come) text += command("add", set, list);
    return text;
}

std::string RuleSet::full(const ServiceTable& table, bool from_scratch) {
    const std::string name(TableName);
    std::string text = "add table ip " + name + "\n";
    if (from_scratch) text += "delete table ip " + name + "\nadd table ip " + name + "\n";
    text += declare_and_flush();
    Changes from_options;
    for (const IpPrefix& prefix : disjoint(options_.pod_prefixes)) from_options.added.push_back({PodCidrs, prefix.to_string(), ""});
    for (const IpPrefix& prefix : disjoint(options_.service_prefixes)) from_options.added.push_back({ServiceCidrs, prefix.to_string(), ""});
    for (const IpAddress& address : options_.served_here) from_options.added.push_back({HostServedIps, address.to_string(), ""});
    text += from_options.text();
    text += base_rules(options_.masquerade_mark);

    auto before = std::exchange(programmed_, {});
    rule_counts_ = base_rule_counts();
    cluster_ips_.clear();
    hairpins_.clear();
    neighbors_.clear();
    Changes batch;
    for (const auto& [key, frontend] : table.frontends()) {
        if (const auto old = before.find(key); old != before.end()) note_loss(key, &old->second, &frontend);
        program(key, &frontend, batch);
    }
    for (const auto& [key, old] : before) {
        if (!table.frontends().contains(key)) note_loss(key, &old, nullptr);
    }
    program_addresses(table, batch);
    return text + batch.text();
}

Changes RuleSet::change(const ServiceTable& table, const std::set<FrontendKey>& changed) {
    Changes batch;
    for (const FrontendKey& key : changed) {
        const auto now = table.frontends().find(key);
        const auto before = programmed_.find(key);
        const Frontend* frontend = now == table.frontends().end() ? nullptr : &now->second;
        note_loss(key, before == programmed_.end() ? nullptr : &before->second, frontend);
        program(key, frontend, batch);
    }
    program_addresses(table, batch);
    return batch;
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

void RuleSet::program(const FrontendKey& key, const Frontend* frontend, Changes& batch) {
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
        if (!programmed.slots.empty()) require_chain(service_chain(*frontend, programmed.slots.size()), batch);
        if (!programmed.inside_slots.empty()) require_chain(internal_chain(*frontend, programmed.inside_slots.size()), batch);
        if (frontend->affinity) require_chain(update_affinity_chain(*frontend), batch);
    } else {
        programmed_.erase(entry);
    }
    append_missing(before, after, batch.removed);
    append_missing(after, before, batch.added);

    const bool is_cluster_ip = frontend && frontend->kind == Frontend::Kind::ClusterIp;
    if (is_cluster_ip && !was_cluster_ip && ++cluster_ips_[key.address] == 1) batch.added.push_back(cluster_ip(key.address));
    if (was_cluster_ip && !is_cluster_ip && --cluster_ips_[key.address] == 0) {
        cluster_ips_.erase(key.address);
        batch.removed.push_back(cluster_ip(key.address));
    }
}

void RuleSet::program_addresses(const ServiceTable& table, Changes& batch) {
    for (const IpAddress& address : table.local_addresses()) {
        if (hairpins_.insert(address).second) batch.added.push_back(hairpin_connection(address));
    }
    std::erase_if(hairpins_, [&](const IpAddress& address) {
        if (table.local_addresses().contains(address)) return false;
        batch.removed.push_back(hairpin_connection(address));
        return true;
    });

    std::set<IpPrefix> neighbors;
    if (options_.masquerade_neighbors) neighbors.insert(table.node().pod_prefixes.begin(), table.node().pod_prefixes.end());
    for (const IpPrefix& prefix : neighbors_) {
        if (!neighbors.contains(prefix)) batch.removed.push_back(local_pod_cidr(prefix));
    }
    for (const IpPrefix& prefix : neighbors) {
        if (!neighbors_.contains(prefix)) batch.added.push_back(local_pod_cidr(prefix));
    }
    neighbors_ = std::move(neighbors);
}

std::vector<Element> RuleSet::elements(const FrontendKey& key, const Programmed& programmed) const {
    std::vector<Element> result;
    const Frontend& frontend = programmed.frontend;
    if (programmed.slots.empty())
        result.push_back(no_endpoint_service(key, frontend.drop_unanswered));
    else
        result.push_back(service_ip(key, service_chain(frontend, programmed.slots.size()).name()));
    if (!programmed.inside_slots.empty())
        result.push_back(internal_service_ip(key, internal_chain(frontend, programmed.inside_slots.size()).name()));
    if (frontend.affinity) result.push_back(affinity_service(key, update_affinity_chain(frontend).name()));
    for (std::size_t i = 0; i < programmed.slots.size(); ++i) result.push_back(endpoint(key, i, programmed.slots[i]));
    for (std::size_t i = 0; i < programmed.inside_slots.size(); ++i)
        result.push_back(endpoint(key, FirstInternalSlot + i, programmed.inside_slots[i]));
    if (!frontend.source_ranges.empty()) result.push_back(firewall_ip(key));
    for (const IpPrefix& range : disjoint(frontend.source_ranges)) result.push_back(firewall_allowed_source(key, range));
    return result;
}

void RuleSet::require_chain(const ChainSpec& chain, Changes& batch) {
    const std::string name = chain.name();
    if (rule_counts_.contains(name)) return;
    const std::vector<std::string> rules = chain.rules(options_.masquerade_mark);
    rule_counts_[name] = rules.size();
    batch.chain(name, rules);
}

std::map<std::string, std::set<std::string>> RuleSet::expected_elements() const {
    std::map<std::string, std::set<std::string>> expected = declared_elements();
    for (const auto& [key, programmed] : programmed_) {
        for (const Element& element : elements(key, programmed)) expected[element.set].insert(element.text());
    }
    for (const auto& [address, count] : cluster_ips_) expected[ClusterIps].insert(cluster_ip(address).text());
    for (const IpAddress& address : hairpins_) expected[HairpinConnections].insert(hairpin_connection(address).text());
    return expected;
}

std::string delete_element(const Element& element) { return command("delete", element.set, element.key); }

std::string remove_table() {
    const std::string table = "table ip " + std::string(TableName);
    return table + "\ndelete " + table + "\n";
}

std::string ChainSpec::name() const {
    const auto number = purpose == Purpose::UpdateAffinity ? static_cast<std::size_t>(affinity_time.count()) : endpoints;
    return std::string(word(purpose)) + "-" + std::to_string(number) + (has_affinity ? "-sticky" : "");
}

std::vector<std::string> ChainSpec::rules(std::uint32_t masquerade_mark) const {
    if (purpose == Purpose::UpdateAffinity) return update_rules(affinity_time);
    std::vector<std::string> rules;
    const std::string mark = "meta mark set meta mark or " + std::to_string(masquerade_mark);
    if (purpose == Purpose::External) rules.push_back(mark);
    if (purpose == Purpose::ClusterIp || purpose == Purpose::Internal)
        rules.push_back("ip saddr != @pod-cidrs fib saddr type != local " + mark);
    const std::string slot = "numgen random mod " + std::to_string(endpoints) +
                             (purpose == Purpose::Internal ? " offset " + std::to_string(FirstInternalSlot) : "");
    for (const Protocol protocol : Protocols) {
        const std::string name = to_string(protocol);
        if (has_affinity)
            rules.push_back("meta l4proto " + name + " dnat ip to ip saddr . ip daddr . meta l4proto . th dport map @affinity");
        rules.push_back("dnat ip to ip daddr . " + name + " dport . " + slot + " map @endpoints-" + name);
    }
    return rules;
}

ChainSpec service_chain(const Frontend& frontend, std::size_t endpoints) {
    using enum ChainSpec::Purpose;
    constexpr ChainSpec::Purpose Purposes[] = {ClusterIp, External, Local};  // by Frontend::Kind
    return {.purpose = Purposes[static_cast<std::size_t>(frontend.kind)],
            .endpoints = endpoints,
            .has_affinity = frontend.affinity.has_value()};
}

ChainSpec internal_chain(const Frontend& frontend, std::size_t endpoints) {
    return {.purpose = ChainSpec::Purpose::Internal, .endpoints = endpoints, .has_affinity = frontend.affinity.has_value()};
}

ChainSpec update_affinity_chain(const Frontend& frontend) {
    return {.purpose = ChainSpec::Purpose::UpdateAffinity, .affinity_time = *frontend.affinity};
}

}  // namespace porthole::proxy::nftables
