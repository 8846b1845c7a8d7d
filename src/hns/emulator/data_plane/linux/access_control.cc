#include "hns/emulator/data_plane/linux/access_control.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "base/strings.h"
#include "hns/emulator/data_plane/linux/addressing.h"
#include "hns/guid.h"

namespace porthole::hns::emulator {

namespace {

using Sets = std::vector<hcn::SetPolicySettings>;

/// Adds the values of the set `id`, and of the sets that it lists, each once.
void expand_set(const Sets& sets, const std::string& id, int depth, std::set<const hcn::SetPolicySettings*>& seen,
                std::vector<std::string>& values) {
    constexpr int DeepestNesting = 8;
    if (depth > DeepestNesting) return;
    for (const auto& set : sets) {
        if ((set.id != id && !same_guid(set.id, id)) || !seen.insert(&set).second) continue;
        const bool nested = set.policy_type == hcn::SetPolicyType::Nestedipset;
        for (const std::string& value : split_list(set.values)) {
            if (nested)
                expand_set(sets, value, depth + 1, seen, values);
            else
                values.push_back(value);
        }
    }
}

/// nullopt where any address will do; an empty text where none does, because a set has no members.
std::optional<std::string> address_set(const std::string& text, const Sets& sets) {
    const std::vector<std::string> named = split_list(text);
    if (named.empty()) return std::nullopt;
    std::vector<std::string> values;
    std::set<const hcn::SetPolicySettings*> seen;
    for (const std::string& value : named) {
        if (ipv4_range(value))
            values.push_back(value);
        else
            expand_set(sets, value, 0, seen, values);
    }
    std::string joined;
    for (const IpPrefix& range : disjoint_ranges(values)) {
        if (range.length() == 0) return std::nullopt;
        joined.append(joined.empty() ? "" : ", ").append(range.to_string());
    }
    return joined;
}

bool is_number_or_range(const std::string& text) {
    return std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || c == '-'; });
}

std::string port_set(const std::string& text) {
    std::string joined;
    for (const std::string& part : split_list(text)) {
        if (is_number_or_range(part)) joined.append(joined.empty() ? "" : ", ").append(part);
    }
    return joined;
}

/// Numbers; "" for any protocol (nothing, or 256).
std::string protocol_set(const std::string& text) {
    std::string joined;
    for (const std::string& part : split_list(text)) {
        if (part == "256" || part == "0") return "";
        if (is_number_or_range(part)) joined.append(joined.empty() ? "" : ", ").append(part);
    }
    return joined;
}

/// The rule's condition; nullopt if nothing can match it.
std::optional<std::string> condition(const hcn::AclSettings& rule, const Sets& sets, bool incoming) {
    std::string text;
    const std::string local_ports = port_set(rule.local_ports), remote_ports = port_set(rule.remote_ports);
    std::string protocols = protocol_set(rule.protocols);
    if (protocols.empty() && !(local_ports + remote_ports).empty()) protocols = "6, 17";
    if (!protocols.empty()) text += fmt::format("meta l4proto {{ {} }} ", protocols);
    const struct {
        const std::string& addresses;
        const char* field;
    } sides[] = {{rule.local_addresses, incoming ? "daddr" : "saddr"}, {rule.remote_addresses, incoming ? "saddr" : "daddr"}};
    for (const auto& side : sides) {
        const auto addresses = address_set(side.addresses, sets);
        if (addresses && addresses->empty()) return std::nullopt;
        if (addresses) text += fmt::format("ip {} {{ {} }} ", side.field, *addresses);
    }
    if (!local_ports.empty()) text += fmt::format("th {} {{ {} }} ", incoming ? "dport" : "sport", local_ports);
    if (!remote_ports.empty()) text += fmt::format("th {} {{ {} }} ", incoming ? "sport" : "dport", remote_ports);
    return text;
}

}  // namespace

void add_access_control(const Endpoint& endpoint, const Network& network, const std::string& port, Contribution& all) {
    const Sets sets = all_settings<hcn::SetPolicySettings>(network.document.policies, "SetPolicy");
    std::vector<hcn::AclSettings> rules = all_settings<hcn::AclSettings>(endpoint.document.policies, "ACL");
    const auto is_host = [](const hcn::AclSettings& rule) { return rule.rule_type == hcn::RuleType::Host; };
    const auto is_allowance = [](const hcn::AclSettings& rule) { return rule.action != hcn::ActionType::Block; };
    std::ranges::sort(rules, {},
                      [&](const hcn::AclSettings& rule) { return std::tuple(!is_host(rule), rule.priority, is_allowance(rule)); });
    for (const bool incoming : {true, false}) {
        Chain chain{.name = fmt::format("acl-{}-{}", incoming ? "in" : "out", endpoint.number)};
        bool any = false, any_switch = false;
        for (const hcn::AclSettings& rule : rules) {
            if (!rule.direction.empty() && (rule.direction == hcn::DirectionType::In) != incoming) continue;
            any = true;
            any_switch |= !is_host(rule);
            if (const auto text = condition(rule, sets, incoming)) {
                chain.rules += fmt::format("\t\t{}{}\n", *text, is_allowance(rule) ? "return" : "drop");
            }
        }
        if (!any) continue;
        if (any_switch) chain.rules += "\t\tdrop\n";
        all.elements.push_back({incoming ? "acl-in" : "acl-out", "\"" + port + "\"", "jump " + chain.name});
        all.chains.push_back(std::move(chain));
    }
}

}  // namespace porthole::hns::emulator
