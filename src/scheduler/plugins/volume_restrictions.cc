#include <algorithm>
#include <set>
#include <string_view>
#include <tuple>

#include "api/core_v1.h"
#include "scheduler/plugins/plugins.h"

namespace porthole::scheduler {

namespace {

using api::core::v1::PersistentVolumeClaim;

/// Whether two pods may not be on one node. Pods may name 100,000 disks: of two long lists both are gone through once, and of a long one
/// only the surroundings of what is in the short one.
bool conflict(const std::vector<PodDisk>& wanted, const std::vector<PodDisk>& used) {
    const auto& [few, many] = wanted.size() < used.size() ? std::tie(wanted, used) : std::tie(used, wanted);
    auto at = many.begin();
    for (const PodDisk& disk : few) {
        std::ptrdiff_t step = 1;
        for (; many.end() - at > step && at[step].id < disk.id; step *= 2) at += step;
        at = std::ranges::lower_bound(at, at + std::min(step + 1, many.end() - at), disk.id, {}, &PodDisk::id);
        if (at == many.end()) return false;
        if (at->conflicts(disk)) return true;
    }
    return false;
}

/// A claim that only one pod may use is used by one, and a disk that pods name themselves is written by one pod of a node.
class VolumeRestrictions final : public Plugin {
public:
    explicit VolumeRestrictions(const Handle& handle) : claims_(handle.context.informers.get<PersistentVolumeClaim>()) {}

    std::string_view name() const override { return "VolumeRestrictions"; }
    Task<> wait_for_sync() override { return claims_.wait_for_sync(); }

    PreFilter pre_filter(const PodInfo& pod, const Cluster& cluster) override {
        pod_ = &pod;
        exclusive_.clear();
        conflicts_ = 0;
        for (const std::string& name : pod.claims) {
            const auto claim = claims_.find({pod.namespace_, name});
            if (!claim || std::ranges::find(claim->spec.access_modes, "ReadWriteOncePod") == claim->spec.access_modes.end()) continue;
            exclusive_.insert(name);
            if (cluster.claim_uses(pod.namespace_ + "/" + name) > 0) ++conflicts_;
        }
        return pod.disks.empty() && conflicts_ == 0 ? PreFilter::skip() : PreFilter::run();
    }
    bool filter(const NodeInfo& node, FilterStatus& status) override {
        if (std::ranges::any_of(node.pods(), [&](const NodeInfo::Entry& entry) { return conflict(pod_->disks, entry.pod->disks); })) {
            status.reject("node(s) had no available disk", true);
            return false;
        }
        if (conflicts_ <= 0) return true;
        status.reject("node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod",
                      true);
        return false;
    }
    void pod_added(const PodInfo& pod, const NodeInfo&) override { conflicts_ += uses(pod); }
    void pod_removed(const PodInfo& pod, const NodeInfo&) override { conflicts_ -= uses(pod); }

    bool queueing_hint(const ClusterEvent& event, const PodInfo& waiting) const override {
        if (event.kind != ClusterEvent::Kind::PodRemoved) return event.kind == ClusterEvent::Kind::NodeAdded;
        return shares_claim(*event.pod, waiting) || conflict(waiting.disks, event.pod->disks);
    }

private:
    static bool shares_claim(const PodInfo& one, const PodInfo& other) {
        if (one.namespace_ != other.namespace_) return false;
        const std::set<std::string_view> claims(one.claims.begin(), one.claims.end());
        return std::ranges::any_of(other.claims, [&](const auto& claim) { return claims.contains(claim); });
    }
    std::int64_t uses(const PodInfo& other) const {
        if (other.namespace_ != pod_->namespace_) return 0;
        return std::ranges::count_if(other.claims, [&](const auto& claim) { return exclusive_.contains(claim); });
    }

    client::Informer<PersistentVolumeClaim>& claims_;
    const PodInfo* pod_ = nullptr;
    std::set<std::string> exclusive_;  // of the pod's claims, those for one pod
    std::int64_t conflicts_ = 0;       // uses of these by other pods
};

}  // namespace

std::unique_ptr<Plugin> make_volume_restrictions(const Handle& handle) { return std::make_unique<VolumeRestrictions>(handle); }

}  // namespace porthole::scheduler
