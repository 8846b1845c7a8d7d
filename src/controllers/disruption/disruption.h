#pragma once
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/apps_v1.h"
#include "api/policy_v1.h"
#include "controllers/framework/context.h"
#include "controllers/framework/expectations.h"
#include "controllers/framework/resource_names.h"

namespace porthole::controllers {

/// Keeps the status of PodDisruptionBudgets.
class DisruptionController final : public client::Controller {
public:
    static constexpr const char* Account = "disruption-controller";
    explicit DisruptionController(Context& context);

private:
    using Budget = api::policy::v1::PodDisruptionBudget;
    using Pod = api::core::v1::Pod;
    using Pods = std::vector<std::shared_ptr<const Pod>>;
    using Size = std::optional<std::pair<std::string, std::int32_t>>;
    struct Expectation {
        std::int32_t pods = 0, healthy = 0;  ///< the number of pods that should exist, and of healthy ones
    };

    Task<client::Requeue> reconcile(client::NamespacedName key) override;
    Pods pods_of(const Budget& budget) const;
    /// Error: if the number of pods that should exist cannot be determined.
    Task<Expectation> expectation(const Budget& budget, const Pods& pods);
    /// The total size that the pods' owners want. Pods without an owner are not counted, and an event says so.
    Task<std::int32_t> wanted_by_owners(const Budget& budget, const Pods& pods);
    /// By uid of the topmost owner; nullopt for one that is gone. Error: BadRequest for an owner whose kind has no scale; the API's.
    Task<Size> size_of_owner(std::string namespace_, api::meta::v1::OwnerReference owner);
    Task<Size> size_by_scale(std::string namespace_, api::meta::v1::OwnerReference owner);

    Context& context_;
    client::EventRecorder& events_;
    client::Informer<Budget>& budgets_;
    client::Informer<Pod>& pods_;
    PodIndex pods_by_label_;
    client::Informer<api::apps::v1::ReplicaSet>& replica_sets_;
    client::Informer<api::apps::v1::Deployment>& deployments_;
    client::Informer<api::apps::v1::StatefulSet>& stateful_sets_;
    client::Informer<api::core::v1::ReplicationController>& replication_controllers_;
    const ResourceNames names_;
    OwnWrites written_;
};

}  // namespace porthole::controllers
