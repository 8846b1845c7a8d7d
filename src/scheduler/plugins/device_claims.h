#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "api/resource_v1.h"
#include "scheduler/devices/binding_metrics.h"
#include "scheduler/devices/device_allocator.h"
#include "scheduler/framework/plugin.h"
#include "scheduler/framework/pod_info.h"

namespace porthole::scheduler {

/// ResourceClaims, slices and classes as observed by watches, and which devices are in use. On the scheduler's loop.
///
/// A device is in use from reserve() on, before the allocation is written and observed, so that no two pods get it. Notifies the scheduler
/// of every change that may allow a pod to run. Returned pointers are valid until the caller suspends.
class DeviceClaims {
public:
    using Claim = std::shared_ptr<const api::resource::v1::ResourceClaim>;
    struct ClaimId {
        client::NamespacedName key;
        std::string uid;
    };

    explicit DeviceClaims(const Handle& handle);
    DeviceClaims(const DeviceClaims&) = delete;

    Task<> wait_for_sync();
    /// Null for none.
    Claim find(const client::NamespacedName& key) const { return claims_.find(key); }
    bool has_class(const std::string& name) const { return classes_.find({"", name}) != nullptr; }
    /// Whether devices are chosen for the claim and not yet observed in its status.
    bool is_being_allocated(const std::string& claim_uid) const { return pending_.contains(claim_uid); }
    /// Whether a driver did not make the claim's devices usable, or not in time: they are usable nowhere.
    bool is_useless(const api::resource::v1::ResourceClaim& claim, const PodInfo& pod) const;
    DeviceWorld world();

    /// Marks the devices of `claim` for the pod as in use.
    void reserve(const PodInfo& pod, const api::resource::v1::ResourceClaim& claim, api::resource::v1::AllocationResult allocation);
    /// Frees devices that were reserved for the pod and not written, and removes the pod from the claims' status.reservedFor.
    void unreserve(const PodInfo& pod);
    /// The claim for which devices were reserved, as `before`, was created.
    void created(const std::string& before, const std::string& claim_uid);
    /// Frees what was reserved for a claim that does not exist any more.
    void deleted(const std::string& claim_uid);
    /// Writes what was reserved for the pod, and adds the pod to status.reservedFor. Error: Conflict if the claim has changed since the pod
    /// was placed.
    Task<> bind(PodRef pod, ClaimId claim);
    /// Waits until the devices of the claims can be used. Error: Conflict if a driver failed, or a claim was taken away; Timeout.
    Task<> wait_for_devices(PodRef pod, std::string node, std::vector<ClaimId> claims);
    /// Clears the allocation of a claim that is reserved for the pod alone, or for no pod.
    void deallocate(const Claim& claim);
    void append_metrics(std::string& out) const { metrics_.append(out); }

private:
    using Allocation = api::resource::v1::AllocationResult;
    struct Pending {
        Allocation allocation;
        std::string pod_uid;
        /// The API has it, or may have it. Kept until the watch shows it, or shows that the claim was deleted.
        bool is_written = false;
        std::uint64_t version = 0;  ///< of the claim as written; 0 while unknown
    };

    void claim_changed(const Claim& before, const Claim& now);
    void count(const Allocation& allocation, int change);
    /// The API has the claim's reservation, as of this version of the claim.
    void written(const std::string& claim_uid, const std::string& version);
    /// The claim was deleted, or has the allocation `instead`. Returns whether devices may have become free.
    bool forget_pending(const std::string& claim_uid, const Allocation* instead = nullptr);
    void devices_changed(const std::string* claim = nullptr);
    Result<bool> has_to_wait(const ClaimId& claim, const PodInfo& pod) const;
    Task<> wait_until_usable(PodRef pod, std::string node, const std::vector<ClaimId>& claims);
    std::vector<BindingMetrics::Device> devices_of(const std::vector<ClaimId>& claims) const;
    BindingMetrics::Outcome outcome_of(const Result<void>& waited, const std::vector<ClaimId>& claims) const;
    /// For devices of `pod`, by its profile.
    Duration longest_wait(const PodInfo& pod) const;
    /// After a write with unknown outcome: asks until the API answers.
    Task<> settle(client::NamespacedName key, std::string claim_uid);
    Task<> take_off(PodRef pod, client::NamespacedName key);

    Handle handle_;
    client::Informer<api::resource::v1::ResourceClaim>& claims_;
    client::Informer<api::resource::v1::ResourceSlice>& slices_;
    client::Informer<api::resource::v1::DeviceClass>& classes_;
    std::optional<DeviceInventory> inventory_;  ///< created on first use after a change
    DeviceSelectors selectors_;
    std::unordered_map<std::string, DeviceUse> in_use_;  ///< by device_key()
    std::unordered_map<std::string, Pending> pending_;   ///< by the claim's uid
    Event changed_;                                      ///< a claim was observed in another state
    BindingMetrics metrics_;
};

/// Whether status.reservedFor has room for one more.
bool can_be_reserved(const api::resource::v1::ResourceClaim& claim);

}  // namespace porthole::scheduler
