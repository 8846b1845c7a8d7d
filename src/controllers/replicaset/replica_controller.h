#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/apps_v1.h"
#include "client/informers/controller.h"
#include "controllers/framework/context.h"
#include "controllers/framework/expectations.h"
#include "controllers/framework/look_pace.h"
#include "controllers/framework/owner.h"
#include "controllers/framework/pod_control.h"
#include "controllers/framework/pod_ranking.h"
#include "controllers/replicaset/replica_facts.h"

namespace porthole::controllers {

/// Keeps the wanted number of pods of one template: the common part of ReplicaSets and ReplicationControllers.
///
/// A replication controller is handled as an equivalent replica set.
class ReplicaController : public client::Controller {
public:
    using ReplicaSet = api::apps::v1::ReplicaSet;
    using ReplicaSetStatus = api::apps::v1::ReplicaSetStatus;
    using Pod = api::core::v1::Pod;
    using PodPointer = std::shared_ptr<const Pod>;

    // The cached sets, for find_owner().
    virtual std::shared_ptr<const ReplicaSet> find(const client::NamespacedName& key) const = 0;
    virtual std::vector<std::shared_ptr<const ReplicaSet>> list(const std::string& namespace_) const = 0;

protected:
    ReplicaController(Context& context, std::string name, const std::string& component, const schema::Kind& kind);

    /// Called at the end of the derived class's constructor: handlers are called immediately for pods in the cache.
    void watch_pods();
    virtual Task<> write_status(ReplicaSet set) = 0;
    /// Error: as the API's. The set as the server has it now.
    virtual Task<ReplicaSet> read(client::NamespacedName key) = 0;
    /// The pods that count as neighbors when one of the set's is chosen for deletion, including those of its siblings.
    virtual std::vector<PodPointer> related_pods(const ReplicaSet& set) const;

    Task<client::Requeue> reconcile(client::NamespacedName key) override;

    Context& context_;

private:
    static constexpr Duration TimePerPod = std::chrono::microseconds(100);
    struct Observed;

    void pod_added(const Pod& pod);
    void pod_updated(const Pod& old, const Pod& now);
    void pod_deleted(const Pod& pod);
    std::shared_ptr<const ReplicaSet> owner_of_pod(const Pod& pod) const;
    void queue_matching(const Pod& orphan);

    void count(const ReplicaSet& set, const ReplicaFacts& facts, std::size_t pods, Observed& observed) const;
    Task<Observed> observe(const ReplicaSet& set);
    Task<Observed> observe_claimed(const ReplicaSet& set);
    /// Moves the number of pods toward the wanted one. The error is shown in the condition ReplicaFailure.
    Task<> create_missing(const ReplicaSet& set, int count);
    Task<> delete_surplus(const ReplicaSet& set, int count);
    Task<> delete_one(const ReplicaSet& set, PodPointer pod);
    ReplicaSetStatus make_status(const ReplicaSet& set, const Observed& observed, const std::optional<Error>& failure) const;
    Task<> update_status(const ReplicaSet& set, ReplicaSetStatus status);
    Owner owner(const ReplicaSet& set) const { return {kind_, set.metadata}; }

    const schema::Kind& kind_;
    Expectations expectations_;
    PodControl pod_control_;
    PodOwnerIndex pods_by_owner_;
    PodIndex replicas_;
    LookPace pace_;
};

}  // namespace porthole::controllers
