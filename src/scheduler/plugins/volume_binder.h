#pragma once
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "api/core_v1.h"
#include "scheduler/framework/plugin.h"
#include "scheduler/framework/pod_info.h"

namespace porthole::api::storage::v1 {
struct StorageClass;
}

namespace porthole::scheduler {

/// A PersistentVolumeClaim as placement sees it.
struct ClaimInfo {
    std::string volume;  ///< that it is bound to; "" for none
    bool terminating = false;
    std::string selected_node{};      ///< that its volume is to be made on; "" for none
    bool waits_for_consumer = false;  ///< its class binds it when a pod has been given a node
    /// Of an unbound claim whose class makes no volumes: those that it may get. Nothing: one is made where the pod goes.
    std::optional<std::vector<std::string>> candidates{};
};

/// Where a PersistentVolume can be used; nothing: everywhere.
struct VolumeInfo {
    std::optional<std::vector<NodeSelectorTerm>> node_terms;
};

/// Claims and volumes as the watches show them, and the binding of a pod's claims on its node. On the scheduler's loop.
///
/// A claim that two pods share is bound for one node: who comes second goes there too. It tells the scheduler of every change that may
/// let a pod run. Pointers that it returns are good until the caller suspends.
class VolumeBinder {
public:
    explicit VolumeBinder(const Handle& handle);
    VolumeBinder(const VolumeBinder&) = delete;

    Task<> wait_for_sync();
    /// The claim `name` of the pod's namespace, or null.
    const ClaimInfo* find_claim(const PodInfo& pod, const std::string& name) const;
    const VolumeInfo* find_volume(const std::string& name) const;
    /// The node that an unbound claim of the pod's namespace is reserved for, or null.
    const std::string* find_reserved_node(const PodInfo& pod, const std::string& name) const;

    /// The pod's unbound claims are for `node` until they are bound, or unreserve() is called for every pod that has reserved them.
    void reserve(const PodInfo& pod, const std::string& node);
    void unreserve(const PodInfo& pod);
    /// Tells the binder and the provisioners of unbound claims which node they are for, and waits until all claims are bound. Error when a
    /// provisioner gives a claim back, as it does where it cannot make a volume on the node, or none comes in time.
    Task<> bind(PodRef pod, std::string node);

private:
    struct Reservation {
        std::string node;
        std::set<std::string> pods;  ///< by uid; never empty
    };
    void claim_seen(const api::core::v1::PersistentVolumeClaim& claim);
    void volume_seen(const api::core::v1::PersistentVolume& volume);
    std::vector<std::string> candidates_for(const api::core::v1::PersistentVolumeClaim& claim) const;
    /// Claims that look for a volume look again.
    void volumes_moved();
    void changed();
    bool all_bound(const PodInfo& pod) const;
    /// The unbound claims of the pod that are seen to be for `node`.
    std::set<std::string> selected_for(const PodInfo& pod, const std::string& node) const;

    Handle handle_;
    client::Informer<api::core::v1::PersistentVolumeClaim>& claim_source_;
    client::Informer<api::core::v1::PersistentVolume>& volume_source_;
    client::Informer<api::storage::v1::StorageClass>& classes_;
    std::unordered_map<std::string, ClaimInfo> claims_;  // by "namespace/name"
    std::unordered_map<std::string, VolumeInfo> volumes_;
    std::unordered_map<std::string, Reservation> reservations_;  // by claim
    Event changed_;
};

}  // namespace porthole::scheduler
