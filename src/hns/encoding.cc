#include <algorithm>
#include <span>

#include "base/strings.h"
#include "hns/documents.h"

namespace porthole::hns {
namespace {

struct Word {
    std::string_view name;
    std::uint32_t value;
};
struct WordSet {
    std::string_view name;  // the schema's `type-name`
    std::span<const Word> words;
};

constexpr Word NetworkFlagWords[] = {
    {"None", 0},
    {"EnableDnsProxy", 1},
    {"EnableDhcpServer", 2},
    {"EnableMirroring", 4},
    {"EnableNonPersistent", 8},
    {"EnablePersistent", 16},
    {"IsolateVSwitch", 32},
    {"EnableFlowSteering", 64},
    {"DisableSharing", 128},
    {"EnableFirewall", 256},
    {"DisableHostPort", 1024},
    {"EnableIov", 8192},
};
constexpr Word SubnetFlagWords[] = {{"None", 0}, {"DoNotReserveGatewayAddress", 1}};
constexpr Word IpSubnetFlagWords[] = {{"None", 0}, {"EnableBroadcast", 1}, {"ReserveNetworkAddress", 2}};
constexpr Word EndpointFlagWords[] = {
    {"None", 0},
    {"RemoteEndpoint", 1},
    {"DisableInterComputeCommunication", 2},
    {"EnableMirroring", 4},
    {"EnableLowInterfaceMetric", 8},
    {"OverrideDNSServerOrder", 16},
    {"EnableDhcp", 32},
};
constexpr Word LoadBalancerFlagWords[] = {{"None", 0}, {"EnableDirectServerReturn", 1}, {"IPv6", 2}, {"L4Proxy", 4}};
constexpr Word PortMappingFlagWords[] = {
    {"None", 0},    {"EnableInternalLoadBalancer", 1}, {"LocalRoutedVip", 2}, {"UseMux", 4},
    {"NotUsed", 4}, {"EnablePreserveDip", 8},          {"VipExternalIP", 16},
};
constexpr Word DistributionWords[] = {{"None", 0}, {"SourceIPProtocol", 1}, {"SourceIP", 2}};
constexpr Word NatFlagWords[] = {{"None", 0}, {"LocalRoutedVip", 1}, {"IPv6", 2}};
constexpr Word ProtocolWords[] = {{"Unknown", 0}, {"ICMPv4", 1}, {"IGMP", 2}, {"TCP", 6}, {"UDP", 17}, {"ICMPv6", 58}, {"SCTP", 132}};
constexpr Word QueryFlagWords[] = {{"None", 0}, {"Detailed", 1}};

constexpr WordSet WordSets[] = {
    {"NetworkFlags", NetworkFlagWords},
    {"SubnetFlags", SubnetFlagWords},
    {"IPSubnetFlags", IpSubnetFlagWords},
    {"EndpointFlags", EndpointFlagWords},
    {"LoadBalancerFlags", LoadBalancerFlagWords},
    {"LoadBalancerPortMappingFlags", PortMappingFlagWords},
    {"LoadBalancerDistribution", DistributionWords},
    {"NatFlags", NatFlagWords},
    {"ProtocolType", ProtocolWords},
    {"QueryFlags", QueryFlagWords},
};

struct Alias {
    std::string_view type, alias, name;
};
constexpr Alias Aliases[] = {
    {"HostComputeRoute", "Routes", "Setting"},
    {"L4ProxySettings", "ExceptionList", "Exceptions"},
};

const schema::Field* find_field(const schema::Type& type, std::string_view key) {
    if (const schema::Field* exact = type.find_field(key)) return exact;
    for (const Alias& alias : Aliases) {
        if (alias.type == type.name && equal_ignoring_case(alias.alias, key)) return type.find_field(alias.name);
    }
    for (const schema::Field& field : type.fields) {
        if (equal_ignoring_case(field.name, key)) return &field;
    }
    return nullptr;
}

const WordSet* find_words(const schema::Field& field) {
    if (!field.notes || field.notes->type_name.empty()) return nullptr;
    const auto found = std::ranges::find(WordSets, field.notes->type_name, &WordSet::name);
    return found == std::end(WordSets) ? nullptr : &*found;
}

/// "EnableDnsProxy, EnableNonPersistent" → 9
Result<void> words_to_number(const WordSet& set, schema::Value& value) {
    std::uint32_t number = 0;
    std::string_view rest = value.as_string();
    while (!rest.empty()) {
        const std::size_t comma = std::min(rest.find(','), rest.size());
        const std::string_view word = trim(rest.substr(0, comma));
        rest.remove_prefix(std::min(comma + 1, rest.size()));
        const auto found = std::ranges::find_if(set.words, [&](const Word& known) { return equal_ignoring_case(known.name, word); });
        if (found == set.words.end()) {
            return Error(Reason::BadRequest, "unknown word \"" + std::string(word) + "\" in " + std::string(set.name));
        }
        number |= found->value;
    }
    value = number;
    return {};
}

/// The enumeration's own writing of a word, or the word of a number. What it does not know stays.
void to_word(const schema::Enumeration& enumeration, schema::Value& value) {
    if (value.is_int()) {
        const auto index = static_cast<std::uint64_t>(value.as_int());
        if (index < enumeration.values.size()) value = enumeration.values[index];
    } else if (value.is_string()) {
        for (const std::string_view word : enumeration.values) {
            if (equal_ignoring_case(word, value.as_string())) return void(value = word);
        }
    }
}

Result<void> normalize_value(const schema::Field& field, schema::Value& value) {
    if (field.form == schema::Form::Struct) return normalize(*field.type, value);
    if (const schema::Enumeration* enumeration = field.enumeration()) {
        to_word(*enumeration, value);
    } else if (const WordSet* words = find_words(field); words && value.is_string()) {
        return words_to_number(*words, value);
    }
    return {};
}

Result<void> normalize_member(const schema::Field& field, schema::Value& value) {
    if (!field.is_list() || !value.is_array()) return normalize_value(field, value);
    for (schema::Value& item : value.as_array()) {
        TRY_VOID(normalize_value(field, item));
    }
    return {};
}

}  // namespace

Result<void> normalize(const schema::Type& type, schema::Value& tree) {
    if (!tree.is_object()) return {};
    schema::Object members;
    for (schema::Member& member : tree.as_object()) {
        const schema::Field* field = find_field(type, member.key);
        if (field) {
            TRY_VOID(normalize_member(*field, member.value));
        }
        members[field ? field->name : std::string_view(member.key)] = std::move(member.value);
    }
    tree = std::move(members);
    return {};
}

}  // namespace porthole::hns
