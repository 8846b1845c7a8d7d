#include <algorithm>

#include "scheduler/plugins/plugins.h"

namespace porthole::scheduler {

namespace {

/// A pod waits until its claims are there and bound, and goes where their volumes can be used. Claims whose class waits for the first
/// consumer are bound once the pod has been given a node.
class VolumeBinding final : public Plugin {
public:
    std::string_view name() const override { return "VolumeBinding"; }

    PreFilter pre_filter(const PodInfo& pod, const Cluster& cluster) override {
        volumes_.clear();
        volume_missing_ = false;
        if (pod.claims.empty()) return PreFilter::skip();
        for (const std::string& claim_name : pod.claims) {
            const ClaimInfo* claim = cluster.find_claim(pod.namespace_ + "/" + claim_name);
            if (!claim) return PreFilter::reject("persistentvolumeclaim \"" + claim_name + "\" not found");
            if (claim->terminating) return PreFilter::reject("persistentvolumeclaim \"" + claim_name + "\" is being deleted");
            if (claim->volume.empty() && !claim->waits_for_consumer) {
                return PreFilter::reject("pod has unbound immediate PersistentVolumeClaims");
            }
            if (claim->volume.empty()) continue;
            const VolumeInfo* volume = cluster.find_volume(claim->volume);
            if (!volume)
                volume_missing_ = true;
            else if (volume->node_terms)
                volumes_.push_back(volume);
        }
        return volumes_.empty() && !volume_missing_ ? PreFilter::skip() : PreFilter::run();
    }

    bool filter(const NodeInfo& node, Rejection& rejection) override {
        if (volume_missing_) {
            rejection.because("node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)", false);
            return false;
        }
        const bool all = std::ranges::all_of(volumes_, [&](const VolumeInfo* volume) {
            return std::ranges::any_of(*volume->node_terms,
                                       [&](const NodeSelectorTerm& term) { return term.matches(node.spec().labels, node.name()); });
        });
        if (!all) rejection.because("node(s) didn't match PersistentVolume's node affinity", false);
        return all;
    }

    bool may_help(const ClusterEvent& event, const PodInfo&) const override {
        return event.kind == ClusterEvent::Kind::VolumesChanged || event.kind == ClusterEvent::Kind::NodeAdded ||
               (event.kind == ClusterEvent::Kind::NodeChanged && event.old_node->labels != event.node->labels);
    }

private:
    std::vector<const VolumeInfo*> volumes_;  // of the pod's bound claims, those that cannot be used everywhere
    bool volume_missing_ = false;
};

}  // namespace

std::unique_ptr<Plugin> make_volume_binding() { return std::make_unique<VolumeBinding>(); }

}  // namespace porthole::scheduler
