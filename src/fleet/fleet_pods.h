#pragma once
#include <map>

#include "client/informers/controller.h"
#include "fleet/fleet_nodes.h"
#include "fleet/pod_model.h"

namespace porthole::fleet {

/// The number of the fleet's pods, by state.
struct PodCounts {
    std::size_t assigned = 0, running = 0;
    std::uint64_t steps = 0;  ///< that were performed since the start
};

/// Simulates the life of the pods on a fleet's nodes. One watch follows all pods that have a node; of pods without a pending step it keeps
/// some hundred bytes. Lives on one loop.
class FleetPods final : public client::Controller {
public:
    FleetPods(client::InformerContext context, const FleetPlan& plan, FleetNodes& nodes, PodModel& model, std::size_t in_flight);

    /// Follows the pods, until cancelled. run() acts on them.
    Task<> follow();
    const PodCounts& counts() const { return counts_; }

private:
    /// A step that waits for its time, or was performed and does not show in the watch yet.
    struct Waiting {
        std::string uid, step;
        MonotonicTime since;
        std::optional<MonotonicTime> performed;
        bool removed = false;  ///< by that step
    };
    using Object = client::InformerCore::Object;

    void observe(const FleetPod* old, const FleetPod* now);
    Task<client::Requeue> reconcile(client::NamespacedName key) override;
    Task<client::Requeue> perform(std::shared_ptr<const FleetPod> pod, std::size_t node, std::string step);

    Task<> carry_out(const FleetPod& pod, PodChange change);

    client::Client& client_;
    const FleetPlan& plan_;
    FleetNodes& nodes_;
    PodModel& model_;
    client::InformerCore informer_;
    std::map<client::NamespacedName, Waiting> waiting_;
    PodCounts counts_;
};

}  // namespace porthole::fleet
