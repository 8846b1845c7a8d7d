#pragma once
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "api/apps_v1.h"
#include "client/informers/controller.h"
#include "controllers/daemonset/daemon_update.h"
#include "controllers/daemonset/node_fit.h"
#include "controllers/framework/context.h"
#include "controllers/framework/expectations.h"
#include "controllers/framework/pod_control.h"

namespace porthole::controllers {

/// Keeps one pod of a DaemonSet on every node where it should run.
class DaemonSetController final : public client::Controller {
public:
    static constexpr const char* Account = "daemon-set-controller";
    explicit DaemonSetController(Context& context);

private:
    using DaemonSet = api::apps::v1::DaemonSet;
    using ControllerRevision = api::apps::v1::ControllerRevision;
    using Node = api::core::v1::Node;
    using Pod = api::core::v1::Pod;
    using PodPointer = daemon::PodPointer;
    struct FailedPod {
        Duration wait{};
        MonotonicTime not_before{};
    };

    Task<client::Requeue> reconcile(client::NamespacedName key) override;
    std::shared_ptr<const DaemonSet> owner_of_pod(const Pod& pod) const;
    void pod_changed(const Pod& pod);
    void node_changed();

    Task<ControllerRevision> sync_history(const DaemonSet& set);
    Task<> clean_history(const DaemonSet& set, std::string current_hash, const daemon::PodsByNode& pods);
    Task<daemon::PodsByNode> claim_pods(const DaemonSet& set);
    /// The pods to create and delete on each node so that it has exactly one, regardless of their template.
    daemon::Changes placement(const DaemonSet& set, const api::core::v1::PodSpec& spec, const daemon::PodsByNode& pods,
                              const std::string& hash);
    void tidy_node(const DaemonSet& set, const std::vector<PodPointer>& pods, const std::string& hash, bool surges,
                   daemon::Changes& changes);
    void forget_calm_pods();
    bool give_up_failed(const DaemonSet& set, const Pod& pod);
    Task<> apply(const DaemonSet& set, const api::core::v1::PodSpec& spec, daemon::Changes changes, std::string hash);
    Task<> create_on(const DaemonSet& set, const api::core::v1::PodSpec& spec, std::string node, std::string hash);
    Task<> remove(const DaemonSet& set, PodPointer pod);
    std::int32_t count_desired(const api::core::v1::PodSpec& spec) const;
    Task<> update_status(const DaemonSet& set, const api::core::v1::PodSpec& spec, const daemon::PodsByNode& pods, std::string hash);

    Context& context_;
    client::EventRecorder& events_;
    PodControl pod_control_;
    Expectations expectations_;
    client::Informer<DaemonSet>& sets_;
    client::Informer<Node>& nodes_;
    OwnerIndex<ControllerRevision> revisions_by_owner_;
    PodOwnerIndex pods_by_owner_;
    std::map<std::string, FailedPod> failed_;  ///< by set's uid and node
    MonotonicTime next_sweep_;
};

}  // namespace porthole::controllers
