#pragma once
#include <set>
#include <string>
#include <vector>

#include "base/log.h"
#include "cni/flannel/host_routes.h"
#include "cni/flannel/lease.h"
#include "hns/client.h"
#include "hns/client_v1.h"
#include "runtime/event_loop.h"

namespace porthole::cni::flannel {

namespace hcn = porthole::hns::hcn;

/// The collaborators of the pod network of a Windows host. All outlive it.
struct WindowsNetworkContext {
    EventLoop& loop;
    porthole::hns::Hns& hns;
    HostRoutes& routes;
    Logger log;
};

/// Options of the pod network.
struct WindowsNetworkOptions {
    NetworkConfig config;
    IpPrefix subnet;               ///< of this host's pods
    IpAddress management_address;  ///< at which other nodes reach this host
    std::string adapter;           ///< "Ethernet"; "" leaves the choice to the host network service
};

/// The pod network of a Windows host: with a host gateway an L2Bridge network, the host's own endpoint in it (the second address of the
/// subnet, the gateway of the pods) and routes; with VXLAN an overlay network and a policy for each other host.
///
/// Level-triggered: ensure() and follow() compare with the actual state and change what differs, so both may be repeated at any time, but
/// not concurrently.
class WindowsNetwork {
public:
    WindowsNetwork(WindowsNetworkContext context, WindowsNetworkOptions options);

    /// A network of this name that is of another type or range is replaced, which removes its endpoints.
    /// Errors: Timeout while the host is not back on its new switch; BadRequest for a service without overlay networks.
    Task<> ensure();
    /// Sets the routes to the pods of all `others`. VXLAN: leases of another VNI are ignored.
    Task<> follow(std::vector<Lease> others);

    /// VXLAN: the MAC at which other hosts reach this one's router, "00:15:5d:…"; known after ensure().
    const std::string& router_mac() const { return router_mac_; }

private:
    bool is_overlay() const { return options_.config.backend == Backend::Vxlan; }
    hcn::HostComputeNetwork wanted() const;
    bool is_wanted(const hcn::HostComputeNetwork& network) const;
    Task<hcn::HostComputeNetwork> find_or_make();
    Task<> wait_for_bridge();
    Task<> wait_for_overlay();
    Task<> ensure_host_endpoint();
    Task<> attach_to_host(std::string endpoint_id);
    Task<> follow_by_routes(std::vector<Lease> others);
    Task<> follow_by_policies(std::vector<Lease> others);
    Result<void> tell_added(const std::string& range, const std::string& via, const Result<void>& added);

    WindowsNetworkContext context_;
    WindowsNetworkOptions options_;
    porthole::hns::Client client_;
    porthole::hns::ClientV1 client_v1_;
    std::string network_id_, router_mac_;
    std::set<std::string> refused_;  ///< ranges that are not reached, logged once
};

}  // namespace porthole::cni::flannel
