#pragma once
#include "api/discovery_v1.h"
#include "controllers/framework/context.h"

namespace porthole::controllers {

/// Maintains the endpoints of kube-system/kube-dns: every ready Linux node answers DNS, at its own address and DnsNodePort. Linux nodes do
/// not need them, because each serves the service's address itself; Windows nodes balance over them.
class DnsEndpointsController final : public client::Controller {
public:
    static constexpr const char* Account = "dns-endpoints-controller";
    static constexpr std::int32_t DnsNodePort = 10053;
    explicit DnsEndpointsController(Context& context);

private:
    using Node = api::core::v1::Node;
    /// A node's address for DNS, "" for none.
    void changed(const std::string& old, const std::string& now);
    Task<client::Requeue> reconcile(client::NamespacedName key) override;
    api::discovery::v1::EndpointSlice wanted() const;

    client::Client& client_;
    client::Informer<Node>& nodes_;
    client::Informer<api::discovery::v1::EndpointSlice>& slices_;
};

}  // namespace porthole::controllers
