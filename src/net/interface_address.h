#pragma once
#include <optional>
#include <string>

#include "base/ip.h"

namespace porthole::net {

/// What is known of the interface of this machine that has an address.
struct InterfaceFacts {
    std::string name;  ///< "eth0", "vEthernet (Ethernet)"
    std::string mac;   ///< "00-15-5d-01-02-03"; "" where it has none
    int prefix_length = 0;
    int mtu = 1500;
};

/// Nothing where no interface has the address.
std::optional<InterfaceFacts> interface_with(const IpAddress& address);
/// "" where there is none.
std::string mac_of_interface_with(const IpAddress& address);

}  // namespace porthole::net
