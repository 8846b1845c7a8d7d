#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "api/apps_v1.h"
#include "client/informers/controller.h"
#include "controllers/framework/context.h"

namespace porthole::controllers {

/// Brings the pods of Deployments from one template to the next.
class DeploymentController final : public client::Controller {
public:
    static constexpr const char* Account = "deployment-controller";
    explicit DeploymentController(Context& context);

private:
    using Deployment = api::apps::v1::Deployment;
    using DeploymentStatus = api::apps::v1::DeploymentStatus;
    using ReplicaSet = api::apps::v1::ReplicaSet;
    using Pod = api::core::v1::Pod;

    /// The view of one reconcile, which includes its own writes.
    struct Rollout {
        Deployment deployment;
        std::vector<ReplicaSet> old_sets;  ///< oldest first
        std::optional<ReplicaSet> new_set;

        std::vector<ReplicaSet> all() const;
        const ReplicaSet* newest() const { return new_set ? &*new_set : nullptr; }
    };

    Task<client::Requeue> reconcile(client::NamespacedName key) override;

    void set_changed(const ReplicaSet& set);
    void pod_deleted(const Pod& pod);
    std::shared_ptr<const Deployment> owner_of_set(const ReplicaSet& set) const;

    Task<std::vector<ReplicaSet>> claim_sets(const Deployment& deployment);
    Task<> note_pause(Deployment& deployment);
    bool is_scaling(const Rollout& rollout) const;

    Task<client::Requeue> roll(Rollout& rollout);
    Task<client::Requeue> recreate(Rollout& rollout);
    Task<client::Requeue> scale_and_report(Rollout& rollout);
    Task<> scale_all(Rollout& rollout);
    bool old_pods_run(const Rollout& rollout) const;

    /// Finds the set for the current template and updates its annotations; `create` creates it if it is missing.
    Task<> sync_new_set(Rollout& rollout, bool create);
    Task<> create_new_set(Rollout& rollout);
    Task<> resolve_collision(Rollout& rollout, ReplicaSet wanted);
    Task<> note_new_set(Rollout& rollout, const char* reason, const char* message_start);
    Task<bool> scale(Rollout& rollout, ReplicaSet& set, std::int32_t size);
    Task<> clean_history(const Rollout& rollout);
    Task<client::Requeue> report(Rollout& rollout);
    Task<> write_status(Deployment& deployment, DeploymentStatus status);

    Context& context_;
    client::EventRecorder& events_;
    client::Informer<Deployment>& deployments_;
    client::Informer<ReplicaSet>& sets_;
    OwnerIndex<ReplicaSet> sets_by_owner_;
    PodOwnerIndex pods_by_owner_;
};

}  // namespace porthole::controllers
