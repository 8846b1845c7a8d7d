#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/hcn_v2.h"
#include "base/result.h"
#include "schema/type.h"
#include "schema/value.h"

namespace porthole::hns {

namespace hcn = api::hcn::v2;

// Flags and numbered values of the documents, each set named after its document or member.

/// Of HostComputeNetwork.
struct NetworkFlags {
    static constexpr std::uint32_t EnableDnsProxy = 1, EnableDhcpServer = 2, EnableMirroring = 4, EnableNonPersistent = 8,
                                   EnablePersistent = 16, IsolateVSwitch = 32, EnableFlowSteering = 64, DisableSharing = 128,
                                   EnableFirewall = 256, DisableHostPort = 1024, EnableIov = 8192;
};
/// Of Subnet.
struct SubnetFlags {
    static constexpr std::uint32_t DoNotReserveGatewayAddress = 1;
};
/// Of HostComputeEndpoint.
struct EndpointFlags {
    static constexpr std::uint32_t RemoteEndpoint = 1, DisableInterComputeCommunication = 2, EnableMirroring = 4,
                                   EnableLowInterfaceMetric = 8, OverrideDnsServerOrder = 16, EnableDhcp = 32;
};
/// Of HostComputeLoadBalancer.
struct LoadBalancerFlags {
    static constexpr std::uint32_t EnableDirectServerReturn = 1, Ipv6 = 2;
};
/// Of LoadBalancerPortMapping.
struct PortMappingFlags {
    static constexpr std::uint32_t EnableInternalLoadBalancer = 1, LocalRoutedVip = 2, UseMux = 4, PreserveDip = 8, VipExternalIp = 16;
};
/// LoadBalancerPortMapping.DistributionType: how the backend of a connection is chosen.
struct Distribution {
    static constexpr std::uint32_t FiveTuple = 0, SourceIpProtocol = 1, SourceIp = 2;
};
/// Of port mapping policies.
struct NatFlags {
    static constexpr std::uint32_t LocalRoutedVip = 1, Ipv6 = 2;
};
/// Numbers of IP protocols, as policies have them.
struct Protocol {
    static constexpr std::uint32_t IcmpV4 = 1, Igmp = 2, Tcp = 6, Udp = 17, IcmpV6 = 58, Sctp = 132;
};
/// Notification::type (HCN_NOTIFICATIONS).
struct NotificationType {
    static constexpr std::uint32_t NetworkCreate = 2, NetworkDelete = 4, NamespaceCreate = 5, NamespaceDelete = 6, EndpointAttached = 9,
                                   EndpointDetached = 0x10, ServiceDisconnect = 0x01000000;
};

/// Schema 2.0, which every document sent to HNS must carry: without it HNS reads version 1.
inline hcn::Version schema_version() {
    hcn::Version version;
    version.major = 2;
    return version;
}

/// Converts a tree to the form of `type`: member names and enumeration values in HNS' case, flags as numbers (names, comma-joined names and
/// numbers are accepted), alternative names of a member replaced. Unknown members stay. Error: BadRequest for an unknown flag and for a
/// value of the wrong type.
Result<void> normalize(const schema::Type& type, schema::Value& tree);

/// Errors: BadRequest.
Result<void> parse_document(const schema::Type& type, void* document, std::string_view json);
template <class T>
Result<T> parse_document(std::string_view json) {
    T document;
    TRY_VOID(parse_document(T::schema_type(), &document, json));
    return document;
}
Result<void> from_tree(const schema::Type& type, void* document, schema::Value tree);
template <class T>
Result<T> from_tree(schema::Value tree) {
    T document;
    TRY_VOID(from_tree(T::schema_type(), &document, std::move(tree)));
    return document;
}
/// In HNS' form: without zero and empty values, in the schema's order.
std::string write_document(const schema::Type& type, const void* document);
template <class T>
std::string write_document(const T& document) {
    return write_document(T::schema_type(), &document);
}

/// `make_policy("ProviderAddress", settings)`
template <class S>
hcn::Policy make_policy(std::string type, const S& settings);
hcn::Policy make_policy(std::string type);  ///< without settings: HostRoute, L2Driver
/// The settings of a policy in the struct meant for its type. Errors: BadRequest.
template <class S>
Result<S> settings_of(const hcn::Policy& policy) {
    return from_tree<S>(policy.settings);
}
/// Types of policies compare without regard to case.
bool is_policy(const hcn::Policy& policy, std::string_view type);
/// The settings of the first policy of `type` that can be parsed; nullopt if there is none.
template <class S>
std::optional<S> find_settings(const std::vector<hcn::Policy>& policies, std::string_view type) {
    for (const hcn::Policy& policy : policies) {
        if (!is_policy(policy, type)) continue;
        if (auto settings = settings_of<S>(policy)) return *std::move(settings);
    }
    return std::nullopt;
}
/// Of all policies of `type` that can be read, in their order.
template <class S>
std::vector<S> all_settings(const std::vector<hcn::Policy>& policies, std::string_view type) {
    std::vector<S> found;
    for (const hcn::Policy& policy : policies) {
        if (!is_policy(policy, type)) continue;
        if (auto settings = settings_of<S>(policy)) found.push_back(*std::move(settings));
    }
    return found;
}

/// A network without a type is a NAT network: HNS leaves out zeros, and NAT is zero.
inline std::string_view type_of(const hcn::HostComputeNetwork& network) {
    return network.type.empty() ? std::string_view(hcn::NetworkMode::Nat) : std::string_view(network.type);
}
inline bool is_remote(const hcn::HostComputeEndpoint& endpoint) { return (endpoint.flags & EndpointFlags::RemoteEndpoint) != 0; }

/// "00-15-5D-0A-0B-0C" for a MAC written with ':' or '-' in any case; "" if it is not a MAC.
std::string canonical_mac(std::string_view text);

namespace detail {
schema::Value settings_tree(const schema::Type& type, const void* settings);
}
template <class S>
hcn::Policy make_policy(std::string type, const S& settings) {
    hcn::Policy policy;
    policy.type = std::move(type);
    policy.settings = detail::settings_tree(S::schema_type(), &settings);
    return policy;
}

}  // namespace porthole::hns
