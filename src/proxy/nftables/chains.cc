#include "proxy/nftables/chains.h"

namespace porthole::proxy::nftables {
namespace {

constexpr Protocol Protocols[] = {Protocol::Tcp, Protocol::Udp, Protocol::Sctp};

std::string_view word(ChainSpec::Purpose purpose) {
    constexpr std::string_view Words[] = {"cluster-ip", "external", "local", "inside", "remember"};
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

std::string ChainSpec::name() const {
    const auto number = purpose == Purpose::UpdateAffinity ? static_cast<std::size_t>(affinity_time.count()) : endpoints;
    return std::string(word(purpose)) + "-" + std::to_string(number) + (has_affinity ? "-sticky" : "");
}

std::vector<std::string> ChainSpec::rules(std::uint32_t masquerade_mark) const {
    if (purpose == Purpose::UpdateAffinity) return update_rules(affinity_time);
    std::vector<std::string> rules;
    const std::string mark = "meta mark set meta mark or " + std::to_string(masquerade_mark);
    if (purpose == Purpose::External) rules.push_back(mark);
    if (purpose == Purpose::ClusterIp || purpose == Purpose::Internal) rules.push_back("ip saddr != @pods fib saddr type != local " + mark);
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
