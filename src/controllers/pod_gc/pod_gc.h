#pragma once
#include <map>
#include <set>

#include "controllers/framework/context.h"

namespace porthole::controllers {

/// Removes pods that no other component removes: those of nodes that no longer exist, those that were deleted before they had a node, and
/// the oldest terminated ones beyond a number.
class PodGcController final : public client::Controller {
public:
    static constexpr const char* Account = "pod-garbage-collector";
    explicit PodGcController(Context& context);

private:
    using Pod = std::shared_ptr<const api::core::v1::Pod>;

    Task<client::Requeue> reconcile(client::NamespacedName) override { co_return client::Requeue::never(); }
    Task<> background() override;

    Task<> sweep();
    Task<> remove_surplus_terminated();
    Task<> remove_orphans();
    Task<> remove_stuck();
    /// Nodes that pods name, that have been missing for a while, and that the server does not have either.
    Task<std::set<std::string>> lost_nodes();
    /// Marks a pod that may still count as running as Failed, then deletes it without a grace period.
    Task<> force_remove(Pod pod, std::string message);
    /// Several at a time. Each must be one that may be removed.
    Task<> force_remove_all(std::vector<Pod> pods, std::string message);

    client::Client& client_;
    std::size_t kept_;
    client::Informer<api::core::v1::Pod>& pods_;
    client::Informer<api::core::v1::Node>& nodes_;
    // Sweeps look at indexes, and at the pods that they remove: not at all pods.
    PodIndex by_node_;
    PodIndex terminating_by_node_;
    PodIndex terminated_by_rank_;  // the first are removed first
    std::map<std::string, MonotonicTime> missing_since_;
};

}  // namespace porthole::controllers
