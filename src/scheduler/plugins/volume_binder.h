#pragma once
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "api/core_v1.h"
#include "api/storage_v1.h"
#include "scheduler/framework/plugin.h"
#include "scheduler/framework/pod_info.h"

namespace porthole::scheduler {

/// A PersistentVolumeClaim as placement sees it.
struct ClaimInfo {
    std::string volume;  ///< that it is bound to; "" for none
    bool terminating = false;
    std::string selected_node{};      ///< that its volume is to be made on; "" for none
    bool waits_for_consumer = false;  ///< its class binds it when a pod has been given a node
    /// Of an unbound claim that waits for its consumer, the class that makes a volume where none is there; "" where its class makes none.
    std::string provisioned_by{};
    std::int64_t size = 0;  ///< in bytes; 0 where the claim names none
};

/// Where a PersistentVolume can be used; nothing: everywhere.
struct VolumeInfo {
    using Terms = std::optional<std::vector<NodeSelectorTerm>>;
    Terms node_terms;
    std::string in_tree_plugin{};  ///< "" for a volume that is not of one
    Terms migrated_terms{};        ///< for nodes where a CSI driver has taken over from the plug-in
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
    /// Those that an unbound claim of the pod's namespace may get.
    std::vector<const VolumeInfo*> candidates_for(const PodInfo& pod, const std::string& name) const;
    bool is_usable(const VolumeInfo& volume, const NodeInfo& node) const;
    /// Whether the claim's class makes volumes for that node; if not, says in `has_room` whether for want of room.
    bool can_provision(const ClaimInfo& claim, const NodeInfo& node, bool& has_room) const;
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
    /// Capacities are told by drivers that say so in their CSIDriver; the others have enough.
    bool has_capacity(const api::storage::v1::StorageClass& storage_class, std::int64_t size, const Labels& node) const;
    void watch_drivers();
    void changed();
    bool all_bound(const PodInfo& pod) const;
    /// The unbound claims of the pod that are seen to be for `node`.
    std::set<std::string> selected_for(const PodInfo& pod, const std::string& node) const;

    Handle handle_;
    client::Informer<api::core::v1::PersistentVolumeClaim>& claim_source_;
    client::Informer<api::core::v1::PersistentVolume>& volume_source_;
    client::Informer<api::core::v1::PersistentVolume>::Index unbound_volumes_;  // by class, or by the claim that one is kept for
    client::Informer<api::storage::v1::StorageClass>& classes_;
    client::Informer<api::storage::v1::CSIDriver>& drivers_;
    client::Informer<api::storage::v1::CSINode>& csi_nodes_;
    client::Informer<api::storage::v1::CSIStorageCapacity>& capacities_;
    client::Informer<api::storage::v1::CSIStorageCapacity>::Index capacities_of_;  // by class
    std::unordered_map<std::string, ClaimInfo> claims_;                            // by "namespace/name"
    std::unordered_map<std::string, VolumeInfo> volumes_;
    std::unordered_map<std::string, Reservation> reservations_;  // by claim
    Event changed_;
};

}  // namespace porthole::scheduler
