#pragma once
#include <map>
#include <string>

#include "hns/emulator/data_plane/linux/kernel_state.h"
#include "hns/emulator/model/model.h"

namespace porthole::hns::emulator {

/// How an emulated host is placed on Linux.
struct LinuxOptions {
    /// The directory where the namespaces of compartments are mounted: used by this host only, without spaces in its path.
    std::string namespace_folder;
    /// The host's own network namespace; "" for the one that this process is in.
    std::string host_namespace;
    /// Addresses of load balancers are served to the outside only with VipExternalIP, as newer releases do.
    bool outside_needs_flag = false;
    /// Of the physical adapters.
    std::uint32_t mtu = 1500;
};

/// A model, with values derived from several objects. Borrows both; used while the model does not change.
class View {
public:
    View(const Model& model, const LinuxOptions& options) : model(model), options(options) {}
    const Model& model;
    const LinuxOptions& options;

    std::string namespace_path(const std::string& id) const { return options.namespace_folder + "/" + id; }
    /// Node ports are only forwarded while some endpoint of the network is on the host.
    bool has_local_endpoint(const std::string& network) const;
    /// The network of the load balancer's endpoints; nullptr if none exists.
    const Network* network_of(const LoadBalancer& balancer) const;
};

/// The kernel state that each object needs: pure functions of the model. IPv6 addresses need nothing: the Linux side is IPv4 only.
Contribution needs(const Network& network, const View& view);
Contribution needs(const Endpoint& endpoint, const View& view);
Contribution needs(const Namespace& compartment, const View& view);
Contribution needs(const LoadBalancer& balancer, const View& view);
Contribution needs(const SdnRoute& route, const View& view);

/// The name of the virtual adapter that replaces a physical one: "vEthernet" for "Ethernet".
std::string virtual_adapter(const std::string& adapter);
/// The host's own address in a subnet whose gateway it is (NAT and internal networks); "" in others.
std::string gateway_on_host(const Network& network, const hcn::Subnet& subnet);
/// The host's end of an endpoint's link.
std::string port_name(const Endpoint& endpoint);

}  // namespace porthole::hns::emulator
