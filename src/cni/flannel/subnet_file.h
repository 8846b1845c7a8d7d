#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "base/values/ip.h"

namespace porthole::cni::flannel {

/// The file subnet.env, which passes the daemon's settings to the CNI meta plugin.
struct SubnetFile {
    IpPrefix network;                               ///< of all pods
    IpPrefix subnet;                                ///< of this node's
    std::optional<IpPrefix> network_v6, subnet_v6;  ///< both or none
    int mtu = 1500;
    bool ip_masq = false;
    bool operator==(const SubnetFile&) const = default;
};

std::string to_text(const SubnetFile& file);
/// Error: BadRequest, naming the key.
Result<SubnetFile> parse_subnet_file(std::string_view text);

}  // namespace porthole::cni::flannel
