#include "scheduler/framework/pod_info.h"

#include <algorithm>

#include "objects/tolerations.h"

namespace porthole::scheduler {

namespace {

std::string_view name_of(const std::pair<std::string, std::int64_t>& entry) { return entry.first; }

}  // namespace

std::int64_t Resources::extended_amount(std::string_view name) const {
    const auto place = std::ranges::lower_bound(extended, name, {}, name_of);
    return place == extended.end() || place->first != name ? 0 : place->second;
}

std::int64_t& Resources::extended_slot(const std::string& name) {
    auto place = std::ranges::lower_bound(extended, std::string_view(name), {}, name_of);
    if (place == extended.end() || place->first != name) place = extended.insert(place, {name, 0});
    return place->second;
}

Resources& Resources::operator+=(const Resources& other) {
    milli_cpu += other.milli_cpu;
    memory += other.memory;
    ephemeral_storage += other.ephemeral_storage;
    for (const auto& [name, amount] : other.extended) extended_slot(name) += amount;
    return *this;
}

Resources& Resources::operator-=(const Resources& other) {
    milli_cpu -= other.milli_cpu;
    memory -= other.memory;
    ephemeral_storage -= other.ephemeral_storage;
    for (const auto& [name, amount] : other.extended) extended_slot(name) -= amount;
    if (!other.extended.empty()) std::erase_if(extended, [](const auto& entry) { return entry.second == 0; });
    return *this;
}

void Resources::raise_to(const Resources& other) {
    milli_cpu = std::max(milli_cpu, other.milli_cpu);
    memory = std::max(memory, other.memory);
    ephemeral_storage = std::max(ephemeral_storage, other.ephemeral_storage);
    for (const auto& [name, amount] : other.extended) {
        std::int64_t& slot = extended_slot(name);
        slot = std::max(slot, amount);
    }
}

void Resources::add_to_named(const Resources& more) {
    milli_cpu += more.milli_cpu;
    memory += more.memory;
    ephemeral_storage += more.ephemeral_storage;
    for (auto& [name, amount] : extended) amount += more.extended_amount(name);
}

void Resources::lower_to(std::int64_t most) {
    for (std::int64_t* amount : {&milli_cpu, &memory, &ephemeral_storage}) *amount = std::min(*amount, most);
    for (auto& [name, amount] : extended) amount = std::min(amount, most);
}

bool Toleration::tolerates(const Taint& taint) const {
    return (!effect || *effect == taint.effect) && objects::covers(key, exists, value, taint.key, taint.value);
}

bool tolerated(const Taint& taint, const std::vector<Toleration>& tolerations) {
    return std::ranges::any_of(tolerations, [&](const Toleration& one) { return one.tolerates(taint); });
}

HostPorts::HostPorts(const std::vector<HostPort>& ports) {
    for (const HostPort& port : ports) add(port);
}

void HostPorts::add(const HostPort& port) { ++ips_[{port.port, port.protocol}][port.ip]; }

void HostPorts::remove(const HostPort& port) {
    const auto number = ips_.find({port.port, port.protocol});
    if (number == ips_.end()) return;
    const auto ip = number->second.find(port.ip);
    if (ip == number->second.end() || --ip->second > 0) return;
    number->second.erase(ip);
    if (number->second.empty()) ips_.erase(number);
}

bool HostPorts::conflict(const std::vector<HostPort>& ports) const {
    constexpr const char* AnyIp = "0.0.0.0";
    return std::ranges::any_of(ports, [&](const HostPort& port) {
        const auto taken = ips_.find({port.port, port.protocol});
        return taken != ips_.end() && (port.ip == AnyIp || taken->second.contains(port.ip) || taken->second.contains(AnyIp));
    });
}

bool PodInfo::accepts_node(const Labels& node_labels, const std::string& node) const {
    for (const auto& [key, value] : node_selector) {
        const auto found = node_labels.find(key);
        if (found == node_labels.end() || found->second != value) return false;
    }
    if (!required_node_terms) return true;
    return std::ranges::any_of(*required_node_terms, [&](const NodeSelectorTerm& term) { return term.matches(node_labels, node); });
}

void forget_search(PodInfo& pod) {
    pod.scheduling_gates = std::vector<std::string>();  // not clear(), which would keep the memory
    pod.images = std::vector<std::string>();
    pod.needed_features = std::vector<std::string_view>();
    pod.node_selector = Labels();
    pod.required_node_terms.reset();
    pod.preferred_node_terms = std::vector<PreferredNodeTerm>();
    pod.tolerations = std::vector<Toleration>();
    pod.spread_constraints = std::vector<SpreadConstraint>();
}

bool is_more_important(const PodRef& one, const PodRef& other) {
    if (one->priority != other->priority) return one->priority > other->priority;
    if (one->started != other->started) return one->started < other->started;
    return one->uid < other->uid;
}

bool alike_on_any_node(const PodInfo& one, const PodInfo& other) {
    return one.requests == other.requests && one.scored_milli_cpu == other.scored_milli_cpu && one.scored_memory == other.scored_memory &&
           one.node_name == other.node_name && one.host_ports == other.host_ports && one.needed_features == other.needed_features &&
           one.node_selector == other.node_selector && one.required_node_terms == other.required_node_terms &&
           one.tolerations == other.tolerations;
}

}  // namespace porthole::scheduler
