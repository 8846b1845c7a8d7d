#pragma once
#include "client/informers/controller.h"
#include "controllers/endpoints/slice_writer.h"

namespace porthole::controllers {

/// Mirrors Endpoints that users maintain for services without a selector as EndpointSlices.
class SliceMirroringController final : public client::Controller {
public:
    static constexpr const char* Account = "endpointslicemirroring-controller";
    explicit SliceMirroringController(Context& context);

private:
    using Endpoints = api::core::v1::Endpoints;
    using Service = api::core::v1::Service;
    using EndpointSlice = api::discovery::v1::EndpointSlice;

    Task<client::Requeue> reconcile(client::NamespacedName key) override;
    bool should_mirror(const Endpoints* endpoints, const Service* service) const;
    std::vector<endpoints::PortGroup> group_by_ports(const Endpoints& endpoints, bool ipv6);

    client::EventRecorder& events_;
    client::Informer<Service>& services_;
    client::Informer<Endpoints>& endpoints_;
    endpoints::SliceWriter slices_;
};

}  // namespace porthole::controllers
