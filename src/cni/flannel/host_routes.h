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

/// The seam to the routing table of a Windows host. Errors: Io; NotFound if no interface has a given address.
class HostRoutes {
public:
    virtual ~HostRoutes() = default;
    /// The routes created by this program that still exist.
    virtual Task<std::vector<HostRoute>> own() = 0;
    virtual Task<> add(HostRoute route) = 0;
    virtual Task<> remove(HostRoute route) = 0;
    /// Enables forwarding on the interfaces with these addresses.
    virtual Task<> enable_forwarding(std::vector<IpAddress> addresses) = 0;
};

/// Uses SDN routes of HNS, for hosts whose system cannot set routes, such as emulated ones. There, a route without endpoints is the host's
/// own.
std::unique_ptr<HostRoutes> make_hns_host_routes(porthole::hns::Hns& hns);
/// Uses the system's own routes (iphlpapi.dll); nullptr if it cannot set routes. `metric` also distinguishes own routes from others.
std::unique_ptr<HostRoutes> make_system_host_routes(IpAddress management_address, std::uint32_t metric = 300);

}  // namespace porthole::cni::flannel
