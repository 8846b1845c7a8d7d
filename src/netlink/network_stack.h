#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/values/ip.h"

namespace porthole::net {

/// A route as `ip route` shows it.
struct Route {
    enum class Kind : std::uint8_t {
        Unicast,      ///< through `gateway`, or directly out of `device`
        Local,        ///< the addresses are the node's own
        Unreachable,  ///< answered with ICMP host unreachable
    };
    IpPrefix destination;
    Kind kind = Kind::Unicast;
    std::optional<IpAddress> gateway;
    std::string device;               ///< may be empty if the gateway determines it
    std::optional<IpAddress> source;  ///< of packets that the node itself sends there
    bool onlink = false;              ///< the gateway is reached through `device` although no address implies it

    auto operator<=>(const Route&) const = default;
};

/// An address of an interface.
struct InterfaceAddress {
    std::string device;
    IpAddress address;
    int prefix_length = 0;
};

/// The seam to routes, addresses and settings of a network namespace, IPv4. Calls are short and synchronous. Errors: Io.
class NetworkStack {
public:
    virtual ~NetworkStack() = default;
    /// The routes created by this program that still exist.
    virtual Result<std::vector<Route>> own_routes() = 0;
    /// Replaces a route to the same destination.
    virtual Result<void> set_route(const Route& route) = 0;
    /// Success if there is none.
    virtual Result<void> remove_route(const Route& route) = 0;
    virtual Result<std::vector<InterfaceAddress>> addresses() = 0;
    /// The MTU of the device of the default route; 1500 if there is none.
    virtual int uplink_mtu() = 0;
    /// Success if there is none.
    virtual Result<void> remove_device(const std::string& name) = 0;

    /// A kernel setting by its path below /proc/sys, such as "net/ipv4/ip_forward". Error: NotFound if the kernel does not have it.
    virtual Result<std::string> setting(const std::string& name) = 0;
    virtual Result<void> set_setting(const std::string& name, const std::string& value) = 0;
};

/// The routing protocol number that marks our own routes.
inline constexpr std::uint8_t OwnRouteProtocol = 80;

/// For the network namespace of this process. Own routes carry OwnRouteProtocol.
std::unique_ptr<NetworkStack> make_network_stack();

}  // namespace porthole::net
