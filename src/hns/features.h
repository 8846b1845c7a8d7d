#pragma once
#include <compare>
#include <cstdint>
#include <string>

namespace porthole::hns {

/// The answer to `GET /globals/version`: 9.5 on Server 2019, 13.x on 2022, 15.4 on 2025.
struct HnsVersion {
    std::uint32_t major = 0, minor = 0;
    auto operator<=>(const HnsVersion&) const = default;
    std::string to_string() const;
};

/// The service's features, which follow from its version alone.
struct Features {
    HnsVersion version;
    bool acl_rules = false;  ///< address lists, rule ids, port ranges
    bool api_v2 = false;
    bool remote_subnet = false;
    bool host_route = false;
    bool direct_server_return = false;
    bool slash32_endpoint_prefixes = false;
    bool l4_proxy = false;
    bool l4_wfp_proxy = false;
    bool vxlan_port = false;
    bool acl_protocol_252 = false;
    bool dual_stack = false;
    bool session_affinity = false;
    bool set_policy = false;
    bool tier_acl = false;
    bool network_acl = false;
    bool nested_ip_set = false;
    bool disable_host_port = false;
    bool modify_load_balancer = false;
    bool accelerated_networking = false;
};

/// Version 0.0 (the query failed) has no feature.
Features features_of(HnsVersion version);

}  // namespace porthole::hns
