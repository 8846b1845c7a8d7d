#include "hns/features.h"

namespace porthole::hns {

std::string HnsVersion::to_string() const { return std::to_string(major) + "." + std::to_string(minor); }

Features features_of(HnsVersion version) {
    const auto from = [version](std::uint32_t major, std::uint32_t minor) { return version >= HnsVersion{major, minor}; };
    // Fixes that were carried back into a release: from this minor to the end of the major.
    const auto within = [version](std::uint32_t major, std::uint32_t minor) { return version.major == major && version.minor >= minor; };
    Features features;
    features.version = version;
    features.acl_rules = from(7, 2);
    features.api_v2 = features.remote_subnet = features.host_route = from(9, 2);
    features.direct_server_return = within(9, 3) || from(10, 2);
    features.slash32_endpoint_prefixes = within(9, 3) || from(10, 4);
    features.l4_proxy = within(9, 5) || within(10, 5) || within(11, 11) || within(12, 1) || from(13, 1);
    features.l4_wfp_proxy = from(13, 2);
    features.vxlan_port = from(10, 3);
    features.acl_protocol_252 = from(11, 0);
    features.dual_stack = from(11, 10);
    features.session_affinity = from(12, 0);
    features.set_policy = from(13, 0);
    features.tier_acl = from(14, 0);
    features.network_acl = features.nested_ip_set = from(15, 0);
    features.disable_host_port = from(15, 1);
    features.modify_load_balancer = features.accelerated_networking = from(15, 4);
    return features;
}

}  // namespace porthole::hns
