#include "hns/policies.h"

#include "hns/hresult.h"
#include "schema/convert.h"

namespace porthole::hns {
namespace {

template <class S>
PolicyKind row(std::string_view name, PolicyOwner owner) {
    return {name, owner, &S::schema_type()};
}

const std::vector<PolicyKind>& kinds() {
    using enum PolicyOwner;
    static const std::vector<PolicyKind> table = {
        row<hcn::PortMappingSettings>("PortMapping", Endpoint),
        row<hcn::AclSettings>("ACL", Endpoint),
        row<hcn::OutboundNatSettings>("OutBoundNAT", Endpoint),
        row<hcn::SdnRoutePolicySettings>("SDNRoute", Endpoint),
        row<hcn::ProviderAddressSettings>("ProviderAddress", Endpoint),
        row<hcn::QosSettings>("QOS", Endpoint),
        row<hcn::L4ProxySettings>("L4Proxy", Endpoint),
        row<hcn::L4WfpProxySettings>("L4WFPPROXY", Endpoint),
        row<hcn::TierAclSettings>("TierAcl", Endpoint),
        {"L2Driver", Endpoint, nullptr},
        row<hcn::PortNameSettings>("PortName", Endpoint),
        row<hcn::EncapOverheadSettings>("EncapOverhead", Endpoint),
        row<hcn::IovSettings>("Iov", Endpoint),
        row<hcn::IsolationSettings>("VLAN", Endpoint),
        row<hcn::InterfaceParametersSettings>("InterfaceParameters", Endpoint),
        {"Encryption", Endpoint, nullptr},
        row<hcn::InterfaceConstraintSettings>("InterfaceConstraint", Endpoint),
        row<hcn::NetAdapterNameSettings>("NetAdapterName", Network),
        row<hcn::ProviderAddressSettings>("ProviderAddress", Network),
        row<hcn::DrMacAddressSettings>("DrMacAddress", Network),
        row<hcn::RemoteSubnetRouteSettings>("RemoteSubnetRoute", Network),
        {"HostRoute", Network, nullptr},
        row<hcn::VxlanPortSettings>("VxlanPort", Network),
        row<hcn::SourceMacAddressSettings>("SourceMacAddress", Network),
        row<hcn::VSwitchExtensionSettings>("VSwitchExtension", Network),
        row<hcn::AutomaticDnsSettings>("AutomaticDNS", Network),
        row<hcn::LayerConstraintSettings>("LayerConstraint", Network),
        row<hcn::SetPolicySettings>("SetPolicy", Network),
        row<hcn::AclSettings>("NetworkACL", Network),
        row<hcn::L4ProxySettings>("L4Proxy", Network),
        row<hcn::InterfaceConstraintSettings>("InterfaceConstraint", Network),
        row<hcn::IsolationSettings>("VLAN", Subnet),
        row<hcn::IsolationSettings>("VSID", Subnet),
    };
    return table;
}

}  // namespace

const PolicyKind* find_policy_kind(PolicyOwner owner, std::string_view name) {
    hcn::Policy wanted;
    wanted.type = name;
    for (const PolicyKind& kind : kinds()) {
        if (kind.owner == owner && is_policy(wanted, kind.name)) return &kind;
    }
    return nullptr;
}

Result<hcn::Policy> canonical_policy(PolicyOwner owner, hcn::Policy policy) {
    const PolicyKind* kind = find_policy_kind(owner, policy.type);
    if (!kind) return hresult_error(Hresult::InvalidPolicyType, "The policy type \"" + policy.type + "\" is invalid.");
    policy.type = kind->name;
    if (!kind->settings) {
        policy.settings = schema::Value::object();
        return policy;
    }
    if (policy.settings.is_null()) policy.settings = schema::Value::object();
    if (auto normal = normalize(*kind->settings, policy.settings); !normal) {
        return hresult_error(Hresult::InvalidPolicy, policy.type + ": " + normal.error().message);
    }
    auto canonical = policy.settings.is_object() ? schema::canonical(*kind->settings, policy.settings)
                                                 : Result<schema::Value>(Error(Reason::BadRequest, "Settings must be an object"));
    if (!canonical) return hresult_error(Hresult::InvalidPolicy, policy.type + ": " + canonical.error().message);
    policy.settings = *std::move(canonical);
    return policy;
}

bool same_policy(const hcn::Policy& left, const hcn::Policy& right) { return left.type == right.type && left.settings == right.settings; }

}  // namespace porthole::hns
