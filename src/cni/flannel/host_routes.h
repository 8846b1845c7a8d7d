#pragma once
#include <memory>
#include <vector>

#include "base/values/ip.h"
#include "hns/hns.h"
#include "runtime/task.h"

namespace porthole::cni::flannel {

/// A route of a Windows host.
struct HostRoute {
    IpPrefix destination;
    IpAddress next_hop;
    auto operator<=>(const HostRoute&) const = default;
};

/// The seam to the routing table of a Windows host. Errors: Io; NotFound when no interface has a given address.
class HostRoutes {
public:
    virtual ~HostRoutes() = default;
    /// Those that this program has made and that are still there.
    virtual Task<std::vector<HostRoute>> own() = 0;
    virtual Task<> add(HostRoute route) = 0;
    virtual Task<> remove(HostRoute route) = 0;
    /// Lets the interfaces with these addresses forward packets.
    virtual Task<> enable_forwarding(std::vector<IpAddress> addresses) = 0;
};

/// By SDN routes of the host network service: for hosts whose system cannot set routes, as emulated ones. A route without endpoints
/// is the host's own there.
std::unique_ptr<HostRoutes> make_hns_host_routes(porthole::hns::Hns& hns);
/// The system's own (iphlpapi.dll); nullptr where it cannot set routes. `metric` also tells own routes from others.
std::unique_ptr<HostRoutes> make_system_host_routes(IpAddress management_address, std::uint32_t metric = 300);

}  // namespace porthole::cni::flannel
