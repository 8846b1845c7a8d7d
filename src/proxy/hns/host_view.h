#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "hns/client.h"
#include "proxy/hns/own_objects.h"

namespace porthole::proxy::hns {

/// The objects of a host that concern the proxy, by id in canonical form.
///
/// The service answers one object at a time and slowly. A repeated read therefore lists all ids, but reads only the documents of new
/// objects, and those of `documents` others in turn. Lives on the proxy's loop; one read at a time. Errors: the service's.
class HostView {
public:
    explicit HostView(porthole::hns::Client& client) : client_(client) {}

    /// Finds the network. Returns whether it is another one than before (or the first); then everything else is dropped. Error: NotFound if
    /// there is none.
    Task<bool> read_network(std::string name);
    Task<> read_endpoints(std::size_t documents);
    /// Returns the ids of load balancers that were removed or found changed.
    Task<std::set<std::string>> read_load_balancers(std::size_t documents);
    /// Forgets everything.
    void forget();

    const hcn::HostComputeNetwork& network() const { return network_; }
    const std::map<std::string, hcn::HostComputeEndpoint>& endpoints() const { return endpoints_; }
    const std::map<std::string, hcn::HostComputeLoadBalancer>& load_balancers() const { return balancers_; }
    const hcn::HostComputeEndpoint* find_endpoint(const std::string& id) const;
    const hcn::HostComputeLoadBalancer* find_load_balancer(const std::string& id) const;
    /// Prefers an endpoint of a pod of this host; with `local_only` only such an endpoint is returned.
    const hcn::HostComputeEndpoint* endpoint_at(const IpAddress& address, bool local_only) const;
    /// Another program's load balancer for the same traffic.
    const hcn::HostComputeLoadBalancer* foreign_holder(const FrontendKey& frontend) const;

    void note(hcn::HostComputeEndpoint endpoint);
    void note(hcn::HostComputeLoadBalancer balancer);
    void forget_endpoint(const std::string& id);
    void forget_load_balancer(const std::string& id) { balancers_.erase(id); }

private:
    Task<std::vector<std::string>> ids(porthole::hns::ObjectKind kind, std::string query);

    porthole::hns::Client& client_;
    hcn::HostComputeNetwork network_;
    std::map<std::string, hcn::HostComputeEndpoint> endpoints_;
    std::multimap<IpAddress, std::string> by_address_;
    std::map<std::string, hcn::HostComputeLoadBalancer> balancers_;
    std::string next_endpoint_, next_balancer_;  // where the next read continues
};

}  // namespace porthole::proxy::hns
