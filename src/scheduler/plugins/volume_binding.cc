#include <algorithm>
#include <set>

#include "scheduler/plugins/plugins.h"
#include "scheduler/plugins/volume_binder.h"

namespace porthole::scheduler {

namespace {

/// A pod waits until its claims are there and bound, and goes where their volumes can be used. Claims whose class waits for the first
/// consumer are bound once the pod has been given a node.
class VolumeBinding final : public Plugin {
public:
    explicit VolumeBinding(const Handle& handle) : binder_(handle) {}

    std::string_view name() const override { return "VolumeBinding"; }
    Task<> wait_for_sync() override { return binder_.wait_for_sync(); }

    PreFilter pre_filter(const PodInfo& pod, const Cluster& cluster) override {
        volumes_.clear();
        choices_.clear();
        reserved_nodes_.clear();
        volume_missing_ = false;
        if (pod.claims.empty()) return PreFilter::skip();
        bool unbound = false;  // told only when every claim is there
        for (const std::string& claim_name : pod.claims) {
            const ClaimInfo* claim = binder_.find_claim(pod, claim_name);
            if (std::string problem = problem_of(pod, claim_name, claim); !problem.empty()) return PreFilter::reject(std::move(problem));
            // Which volume it gets is decided, or not for the scheduler to decide.
            unbound = unbound || (claim->volume.empty() && (!claim->waits_for_consumer || !claim->named_volume.empty()));
            if (claim->volume.empty()) {
                if (claim->waits_for_consumer) choices_.push_back({claim, candidates_for(pod, claim_name, *claim)});
                if (const std::string* node = binder_.find_reserved_node(pod, claim_name))
                    reserved_nodes_.push_back(node);
                else if (cluster.find_node(claim->selected_node))
                    reserved_nodes_.push_back(&claim->selected_node);
                continue;
            }
            const VolumeInfo* volume = binder_.find_volume(claim->volume);
            if (!volume)
                volume_missing_ = true;
            else if (volume->node_terms || volume->migrated_terms)
                volumes_.push_back(volume);
        }
        if (unbound) return PreFilter::reject("pod has unbound immediate PersistentVolumeClaims");
        // As upstream: the smallest claim chooses first.
        std::ranges::sort(choices_, {},
                          [](const Choice& choice) { return std::pair(choice.claim->selected_node.empty(), choice.claim->size); });
        return volumes_.empty() && choices_.empty() && reserved_nodes_.empty() && !volume_missing_ ? PreFilter::skip() : PreFilter::run();
    }

    bool filter(const NodeInfo& node, FilterStatus& status) override {
        const std::size_t before = status.reasons.size();
        if (!std::ranges::all_of(volumes_, [&](const VolumeInfo* volume) { return binder_.is_usable(*volume, node); }))
            status.reject("node(s) didn't match PersistentVolume's node affinity", false);
        const bool elsewhere = std::ranges::any_of(reserved_nodes_, [&](const std::string* reserved) { return *reserved != node.name(); });
        bool has_room = true;
        if (elsewhere || (!each_finds_one(node, has_room) && has_room))
            status.reject("node(s) didn't find available persistent volumes to bind", false);
        if (!has_room) status.reject("node(s) did not have enough free storage", false);
        if (volume_missing_) status.reject("node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)", false);
        return status.reasons.size() == before;
    }

    Result<void> reserve(const PodInfo& pod, const std::string& node) override {
        binder_.reserve(pod, node);
        return {};
    }
    void unreserve(const PodInfo& pod, const std::string&) override { binder_.unreserve(pod); }
    Task<> pre_bind(PodRef pod, std::string node) override { return binder_.bind(std::move(pod), std::move(node)); }

    bool queueing_hint(const ClusterEvent& event, const PodInfo&) const override {
        return event.kind == ClusterEvent::Kind::VolumesChanged || event.kind == ClusterEvent::Kind::NodeAdded ||
               (event.kind == ClusterEvent::Kind::NodeChanged && event.old_node->labels != event.node->labels);
    }

private:
    struct Choice {
        const ClaimInfo* claim;
        std::vector<const VolumeInfo*> volumes;
    };

    /// With upstream's message; "" for none. `claim`: null if there is none.
    static std::string problem_of(const PodInfo& pod, const std::string& name, const ClaimInfo* claim) {
        const std::string quoted = "persistentvolumeclaim \"" + name + "\"";
        const bool is_made = pod.ephemeral_claims.contains(name);
        if (!claim) return is_made ? "waiting for ephemeral volume controller to create the " + quoted : quoted + " not found";
        if (claim->lost) return quoted + " bound to non-existent persistentvolume \"" + claim->named_volume + "\"";
        if (claim->terminating) return quoted + " is being deleted";
        if (is_made && claim->controller != pod.uid)
            return "PVC " + pod.namespace_ + "/" + name + " was not created for pod " + pod.key() + " (pod is not owner)";
        return "";
    }
    /// None for a claim whose volume is to be made on a node that was chosen before.
    std::vector<const VolumeInfo*> candidates_for(const PodInfo& pod, const std::string& name, const ClaimInfo& claim) const {
        if (!claim.selected_node.empty()) return {};
        return binder_.candidates_for(pod, name);
    }

    /// A volume of its own for each claim, or one that can be made. Taken in turn, as upstream. `has_room` becomes false where only room is
    /// wanting.
    bool each_finds_one(const NodeInfo& node, bool& has_room) const {
        std::set<const VolumeInfo*> taken;  // a pod may have thousands of claims
        return std::ranges::all_of(choices_, [&](const Choice& choice) {
            const auto found = std::ranges::find_if(
                choice.volumes, [&](const VolumeInfo* volume) { return !taken.contains(volume) && binder_.is_usable(*volume, node); });
            if (found == choice.volumes.end()) return binder_.can_provision(*choice.claim, node, has_room);
            taken.insert(*found);
            return true;
        });
    }

    VolumeBinder binder_;
    std::vector<Choice> choices_;                     // for each unbound claim
    std::vector<const std::string*> reserved_nodes_;  // of its unbound claims, those that another pod is waiting for
    std::vector<const VolumeInfo*> volumes_;          // of the pod's bound claims, those that cannot be used everywhere
    bool volume_missing_ = false;
};

}  // namespace

std::unique_ptr<Plugin> make_volume_binding(const Handle& handle) { return std::make_unique<VolumeBinding>(handle); }

}  // namespace porthole::scheduler
