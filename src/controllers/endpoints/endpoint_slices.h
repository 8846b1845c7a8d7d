#pragma once
#include "client/informers/controller.h"
#include "controllers/endpoints/service_pods.h"
#include "controllers/endpoints/slice_writer.h"
#include "controllers/framework/look_pace.h"

namespace porthole::controllers {

/// Maintains the EndpointSlices of every service with a selector.
///
/// Differs from Kubernetes: the annotation service.kubernetes.io/topology-mode is ignored; trafficDistribution is not.
class EndpointSliceController final : public client::Controller {
public:
    static constexpr const char* Account = "endpointslice-controller";
    explicit EndpointSliceController(Context& context);

private:
    using Service = api::core::v1::Service;
    using Pod = api::core::v1::Pod;
    using PodPointer = std::shared_ptr<const Pod>;
    using Endpoint = api::discovery::v1::Endpoint;
    using EndpointSlice = api::discovery::v1::EndpointSlice;
    using Node = api::core::v1::Node;

    Task<client::Requeue> reconcile(client::NamespacedName key) override;
    /// `lost_node` gets the name of a node that a pod runs on and that is not in the cache.
    std::vector<endpoints::PortGroup> group_by_ports(const Service& service, const std::vector<PodPointer>& pods, bool ipv6,
                                                     std::string& lost_node) const;
    EndpointSlice fresh_slice(const Service& service, const std::string& address_type) const;

    static constexpr Duration TimePerPod = std::chrono::milliseconds(1);
    client::EventRecorder& events_;
    endpoints::ServicePods service_pods_;
    client::Informer<Node>& nodes_;
    endpoints::SliceWriter slices_;
    endpoints::TriggerTimes trigger_times_;
    LookPace pace_;
};

}  // namespace porthole::controllers
