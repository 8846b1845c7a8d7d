#pragma once
#include <memory>
#include <string>
#include <vector>

#include "api/apps_v1.h"
#include "client/informers/controller.h"
#include "controllers/framework/context.h"
#include "controllers/framework/expectations.h"
#include "controllers/framework/revisions.h"
#include "controllers/stateful_set/identity.h"

namespace porthole::controllers {

/// Keeps the pods of a StatefulSet by ordinal.
class StatefulSetController final : public client::Controller {
public:
    static constexpr const char* Account = "statefulset-controller";
    explicit StatefulSetController(Context& context);

private:
    using StatefulSet = api::apps::v1::StatefulSet;
    using StatefulSetStatus = api::apps::v1::StatefulSetStatus;
    using ControllerRevision = api::apps::v1::ControllerRevision;
    using Pod = api::core::v1::Pod;
    using PodPointer = std::shared_ptr<const Pod>;
    struct Revisions {
        ControllerRevision current, update;
        std::int32_t collision_count = 0;
    };
    /// A set's pods by ordinal.
    struct Places {
        std::vector<PodPointer> replicas;   ///< by ordinal from the first on; null if there is none
        std::vector<PodPointer> condemned;  ///< beyond the range, highest ordinal first
        PodPointer first_unavailable;
    };
    /// One walk over the ordinals, with the counts as they change during it.
    struct Walk {
        const StatefulSet& set;
        const Revisions& revisions;
        StatefulSetStatus& status;
        bool ordered;
    };

    Task<client::Requeue> reconcile(client::NamespacedName key) override;
    void pod_changed(const Pod& pod);
    Task<Revisions> sync_revisions(const StatefulSet& set);
    Task<> clean_history(const StatefulSet& set, const Revisions& revisions, const std::vector<PodPointer>& pods);
    Task<std::vector<PodPointer>> claim_pods(const StatefulSet& set);
    Places place(const StatefulSet& set, const std::vector<PodPointer>& pods) const;
    StatefulSetStatus count(const StatefulSet& set, const std::vector<PodPointer>& pods, const std::string& current_revision,
                            const std::string& update_revision) const;
    Task<> write_status(const StatefulSet& set, const StatefulSetStatus& status);
    bool is_available(const StatefulSet& set, const Pod& pod) const;

    Task<> walk(Walk walk, Places places);
    // Each yields whether the walk has to stop and wait.
    Task<bool> visit_replica(Walk walk, PodPointer pod, int ordinal);
    Task<bool> visit_condemned(Walk walk, PodPointer pod, PodPointer first_unavailable);
    Task<> update_from_the_end(Walk walk, const std::vector<PodPointer>& replicas);
    Task<> restore_identity(Walk walk, Pod pod, int ordinal);
    Task<> create(Walk walk, int ordinal);
    Task<> remove(Walk walk, PodPointer pod);

    Context& context_;
    client::EventRecorder& events_;
    client::Informer<StatefulSet>& sets_;
    OwnerIndex<ControllerRevision> revisions_by_owner_;
    PodOwnerIndex pods_by_owner_;
    stateful::Claims claims_;
    OwnWrites written_;
};

}  // namespace porthole::controllers
