#include <charconv>

#include "base/strings.h"
#include "hns/emulator/v1/translate.h"
#include "hns/hresult.h"
#include "schema/convert.h"

namespace porthole::hns::emulator::v1 {
namespace {

struct Renamed {
    std::string_view old_name, new_name;
};
/// A policy whose type or members have other names in version 1.
struct Row {
    std::string_view old_type, new_type;
    std::vector<Renamed> members;
};

const std::vector<Row>& rows() {
    static const std::vector<Row> table = {
        {"NAT", "PortMapping", {}},
        {"OutBoundNAT", "OutBoundNAT", {{"VIP", "VirtualIP"}, {"ExceptionList", "Exceptions"}}},
        {"ROUTE", "SDNRoute", {}},
        {"PA", "ProviderAddress", {{"PA", "ProviderAddress"}}},
        {"ACL", "ACL", {{"Protocol", "Protocols"}, {"LocalPort", "LocalPorts"}, {"RemotePort", "RemotePorts"}}},
        {"PROXY", "L4Proxy", {{"ExceptionList", "Exceptions"}, {"OutboundNat", "OutboundNAT"}}},
        {"VLAN", "VLAN", {{"VLAN", "IsolationId"}}},
        {"VSID", "VSID", {{"VSID", "IsolationId"}}},
    };
    return table;
}

constexpr struct {
    std::string_view word;
    std::uint32_t number;
} ProtocolWords[] = {{"TCP", Protocol::Tcp}, {"UDP", Protocol::Udp}};

/// Older documents write lists of protocols and ports as numbers, too.
void to_text(schema::Value& value) {
    if (value.is_int()) value = std::to_string(value.as_int());
}

}  // namespace

schema::Value from_policy(const hcn::Policy& policy) {
    schema::Value flat = schema::Value::object({{"Type", policy.type}});
    const Row* row = nullptr;
    for (const Row& candidate : rows()) {
        if (candidate.new_type == policy.type) row = &candidate;
    }
    if (row) flat["Type"] = row->old_type;
    if (!policy.settings.is_object()) return flat;
    for (const schema::Member& member : policy.settings.as_object()) {
        std::string_view name = member.key;
        for (const Renamed& renamed : row ? row->members : std::vector<Renamed>()) {
            if (renamed.new_name == member.key) name = renamed.old_name;
        }
        flat[name] = member.value;
    }
    if (policy.type == hcn::EndpointPolicyType::PortMapping) {
        for (const auto& protocol : ProtocolWords) {
            if (schema::at(flat, "Protocol").int_or(0) == protocol.number) flat["Protocol"] = protocol.word;
        }
        flat["ExternalPortReserved"] = true;
    }
    return flat;
}

Result<hcn::Policy> to_policy(const schema::Value& flat) {
    if (!flat.is_object()) return hresult_error(Hresult::InvalidJson, "A policy must be an object.");
    hcn::Policy policy;
    policy.settings = schema::Value::object();
    for (const schema::Member& member : flat.as_object()) {
        if (equal_ignoring_case(member.key, "Type")) policy.type = member.value.string_or("");
    }
    const Row* row = nullptr;
    for (const Row& candidate : rows()) {
        if (equal_ignoring_case(candidate.old_type, policy.type)) row = &candidate;
    }
    if (row) policy.type = row->new_type;
    for (const schema::Member& member : flat.as_object()) {
        if (equal_ignoring_case(member.key, "Type")) continue;
        std::string_view name = member.key;
        for (const Renamed& renamed : row ? row->members : std::vector<Renamed>()) {
            if (equal_ignoring_case(renamed.old_name, member.key)) name = renamed.new_name;
        }
        schema::Value value = member.value;
        if (policy.type == hcn::EndpointPolicyType::Acl && name != "Priority") to_text(value);
        if (!value.is_null()) policy.settings[name] = std::move(value);
    }
    return policy;
}

}  // namespace porthole::hns::emulator::v1
