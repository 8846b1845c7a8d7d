#pragma once
#include "client/informers/controller.h"
#include "controllers/endpoints/service_pods.h"
#include "controllers/framework/expectations.h"
#include "controllers/framework/look_pace.h"

namespace porthole::controllers {

/// Maintains the Endpoints of every service with a selector.
class EndpointsController final : public client::Controller {
public:
    static constexpr const char* Account = "endpoint-controller";
    explicit EndpointsController(Context& context);

private:
    using Endpoints = api::core::v1::Endpoints;
    using Pod = api::core::v1::Pod;
    using Service = api::core::v1::Service;

    Task<client::Requeue> reconcile(client::NamespacedName key) override;
    Task<> background() override;
    static Endpoints desired(const Service& service, const std::vector<std::shared_ptr<const Pod>>& pods, const Endpoints* current);
    Task<> write(const Service& service, Endpoints wanted, bool exists);

    static constexpr Duration TimePerPod = std::chrono::milliseconds(1);
    Context& context_;
    client::EventRecorder& events_;
    endpoints::ServicePods service_pods_;
    client::Informer<Endpoints>& endpoints_;
    endpoints::TriggerTimes trigger_times_;
    OwnWrites writes_;
    LookPace pace_;
};

namespace endpoints {

/// The pods of a service as subsets: addresses with the same ports in one subset, everything in a fixed order.
std::vector<api::core::v1::EndpointSubset> make_subsets(const Service& service, const std::vector<std::shared_ptr<const Pod>>& pods);
/// At most `limit` addresses, ready ones first. True when some were left out.
bool truncate(std::vector<api::core::v1::EndpointSubset>& subsets, std::size_t limit);

}  // namespace endpoints
}  // namespace porthole::controllers
