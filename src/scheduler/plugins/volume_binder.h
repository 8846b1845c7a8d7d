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

/// The properties of a PersistentVolumeClaim that matter to placement.
struct ClaimInfo {
    std::string volume;  ///< that it is bound to; "" for none
    bool terminating = false;
    bool lost = false;                ///< the volume that it was bound to is gone
    std::string named_volume{};       ///< bound or not; "" for none
    std::string controller{};         ///< uid of the object that it was made for; "" for none
    std::string selected_node{};      ///< on which its volume will be created; "" for none
    bool waits_for_consumer = false;  ///< its class binds it once a pod has a node
    /// For an unbound claim that waits for its consumer, the class that can create a volume; "" if its class creates none.
    std::string provisioned_by{};
    std::int64_t size = 0;  ///< in bytes; 0 if the claim names none
};

/// The nodes that can use a PersistentVolume; nullopt: all.
struct VolumeInfo {
    using Terms = std::optional<std::vector<NodeSelectorTerm>>;
    Terms node_terms;
    std::string in_tree_plugin{};  ///< "" for a volume that is not of one
    Terms migrated_terms{};        ///< for nodes where a CSI driver has replaced the in-tree plug-in
};

/// Claims and volumes as observed by watches, and the binding of a pod's claims on its node. On the scheduler's loop.
///
/// A claim that two pods share is bound for one node: the second pod has to run there too. It notifies the scheduler of every change that
/// may allow a pod to run. Returned pointers are valid until the caller suspends.
class VolumeBinder {
public:
    explicit VolumeBinder(const Handle& handle);
    VolumeBinder(const VolumeBinder&) = delete;

    Task<> wait_for_sync();
    /// The claim `name` of the pod's namespace, or null.
    const ClaimInfo* find_claim(const PodInfo& pod, const std::string& name) const;
    const VolumeInfo* find_volume(const std::string& name) const;
    /// The volumes that an unbound claim of the pod's namespace may be bound to, the smallest first.
    std::vector<const VolumeInfo*> candidates_for(const PodInfo& pod, const std::string& name) const;
    bool is_usable(const VolumeInfo& volume, const NodeInfo& node) const;
    /// Whether the claim's class can create volumes for that node. If not, `has_room` says whether capacity is the reason.
    bool can_provision(const ClaimInfo& claim, const NodeInfo& node, bool& has_room) const;
    /// The node that an unbound claim of the pod's namespace is reserved for, or null.
    const std::string* find_reserved_node(const PodInfo& pod, const std::string& name) const;

    /// The pod's unbound claims are for `node` until they are bound, or unreserve() is called for every pod that has reserved them.
    void reserve(const PodInfo& pod, const std::string& node);
    void unreserve(const PodInfo& pod);
    /// Writes the node into unbound claims, for the binder and the provisioners, and waits until all claims are bound. Error if a
    /// provisioner rejects the node, because it cannot create a volume there, if no volume is created in time, or if the pod or a claim
    /// is deleted meanwhile.
    Task<> bind(PodRef pod, std::string node);

private:
    struct Reservation {
        std::string node;
        std::set<std::string> pods;  ///< by uid; never empty
    };
    void claim_seen(const api::core::v1::PersistentVolumeClaim& claim);
    void volume_seen(const api::core::v1::PersistentVolume& volume);
    /// Only drivers that say so in their CSIDriver report capacities; others count as having enough.
    bool has_capacity(const api::storage::v1::StorageClass& storage_class, std::int64_t size, const Labels& node) const;
    void watch_drivers();
    void changed();
    bool all_bound(const PodInfo& pod) const;
    /// The unbound claims of the pod that, as observed, have `node` selected.
    std::set<std::string> selected_for(const PodInfo& pod, const std::string& node) const;

    Handle handle_;
    client::Informer<api::core::v1::Pod>& pods_;
    client::Informer<api::core::v1::PersistentVolumeClaim>& claim_source_;
    client::Informer<api::core::v1::PersistentVolume>& volume_source_;
    client::Informer<api::core::v1::PersistentVolume>::Index unbound_volumes_;  // by class, or by the claim that a volume is reserved for
    client::Informer<api::storage::v1::StorageClass>& classes_;
    client::Informer<api::storage::v1::CSIDriver>& drivers_;
    client::Informer<api::storage::v1::CSINode>& csi_nodes_;
    client::Informer<api::storage::v1::CSIStorageCapacity>& capacities_;
    client::Informer<api::storage::v1::CSIStorageCapacity>::Index capacities_of_;  // see capacity_key()
    std::unordered_map<std::string, ClaimInfo> claims_;                            // by "namespace/name"
    std::unordered_map<std::string, VolumeInfo> volumes_;
    std::unordered_map<std::string, Reservation> reservations_;  // by claim
    Event changed_;
};

}  // namespace porthole::scheduler
