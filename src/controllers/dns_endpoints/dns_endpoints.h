#pragma once
#include <set>
#include <string>
#include <utility>

#include "api/core_v1.h"
#include "api/discovery_v1.h"
#include "controllers/framework/context.h"

namespace porthole::controllers {

/// Maintains the endpoints of kube-system/kube-dns: every ready Linux node answers DNS, at its own address and DnsNodePort (at most 100 of
/// them). Linux nodes do not need them, because each serves the service's address itself; Windows nodes balance over them. A service with a
/// selector has servers of its own, such as the CoreDNS of a cluster that kubeadm made: it is left to them, and nodes of others do not
/// answer DNS.
class DnsEndpointsController final : public client::Controller {
public:
    static constexpr const char* Account = "dns-endpoints-controller";
    static constexpr std::int32_t DnsNodePort = 10053;
    explicit DnsEndpointsController(Context& context);

private:
    using Node = api::core::v1::Node;
    /// A node's address for DNS, "" for none.
    void changed(const std::string& node, const std::string& old, const std::string& now);
    Task<client::Requeue> reconcile(client::NamespacedName key) override;
    api::discovery::v1::EndpointSlice wanted() const;

    client::Client& client_;
    client::Informer<Node>& nodes_;
    client::Informer<api::core::v1::Service>& services_;
    client::Informer<api::discovery::v1::EndpointSlice>& slices_;
    std::set<std::pair<std::string, std::string>> servers_;  // addresses and nodes, all of them
};

}  // namespace porthole::controllers
