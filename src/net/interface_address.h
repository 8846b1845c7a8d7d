#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/values/ip.h"

namespace porthole::net {

/// An interface of this machine, found by its address.
struct InterfaceFacts {
    std::string name;  ///< "eth0", "vEthernet (Ethernet)"
    std::string mac;   ///< "00-15-5d-01-02-03"; "" if it has none
    int prefix_length = 0;
    int mtu = 1500;
};

/// Nullopt if no interface has the address.
std::optional<InterfaceFacts> interface_with(const IpAddress& address);
/// "" if there is none.
std::string mac_of_interface_with(const IpAddress& address);

/// An interface of this machine and its addresses, in the system's order; loopback interfaces are left out.
struct Interface {
    std::string name;
    std::vector<IpAddress> addresses;
};
std::vector<Interface> interfaces();
/// interfaces() as "Ethernet (192.0.2.13), vEthernet (cbr0_ep)", for messages; "none" if there are none.
std::string list_of_interfaces();

/// This machine's own address on the route to `server` ("https://host:port" with an IP address as host); no packet is sent. Error:
/// BadRequest if the host is not an IP address, Io if there is no route.
Result<IpAddress> source_address_towards(const std::string& server);

}  // namespace porthole::net
