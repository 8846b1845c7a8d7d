#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "api/core_v1.h"
#include "scheduler/plugins/device_claims.h"
#include "scheduler/plugins/extended_resource_classes.h"

namespace porthole::scheduler {

/// ResourceClaims that the scheduler makes for extended resources that devices satisfy: one for a pod, named in its status.
///
/// The pod owns it. It exists from pre_bind on; when the pod is not bound after all, it is deleted.
class ExtendedClaims {
public:
    using Claim = DeviceClaims::Claim;
    using Mappings = std::vector<api::core::v1::ContainerExtendedResourceRequest>;

    /// Both outlive it.
    ExtendedClaims(const Handle& handle, DeviceClaims& claims);

    Task<> wait_for_sync() { return pods_.core().wait_for_sync(); }
    /// The classes of those of the pod's resources that devices may satisfy.
    std::map<std::string, std::string> classes_for(const PodInfo& pod) const;
    /// Null if the pod is not there any more.
    std::shared_ptr<const api::core::v1::Pod> find_pod(const PodInfo& pod) const;
    /// The claim that an earlier attempt left; null for none.
    Claim find(const PodInfo& pod) const;
    /// A claim that is not written yet.
    Claim make(const PodInfo& pod, std::vector<api::resource::v1::DeviceRequest> requests) const;

    void reserve(const PodInfo& pod, Claim claim, Mappings mappings, api::resource::v1::AllocationResult allocation);
    void unreserve(const PodInfo& pod);
    /// Writes what was reserved for the pod, and names the claim in the pod's status. Empty if nothing was.
    Task<std::optional<DeviceClaims::ClaimId>> bind(PodRef pod);
    /// Deletes the claim in the background.
    void remove(DeviceClaims::ClaimId claim);
    void append_metrics(std::string& out) const;

private:
    struct Reserved {
        Claim claim;
        Mappings mappings;
    };
    Task<> name_in_status(PodRef pod, std::string claim, Mappings mappings);
    Task<> give_back(client::NamespacedName pod, std::string pod_uid, DeviceClaims::ClaimId claim);
    Task<> remove_now(DeviceClaims::ClaimId claim);

    Handle handle_;
    DeviceClaims& claims_;
    ExtendedResourceClasses classes_;
    client::Informer<api::core::v1::Pod>& pods_;
    client::Informer<api::resource::v1::ResourceClaim>::Index by_pod_;  ///< by the uid of the pod that owns the claim
    std::unordered_map<std::string, Reserved> reserved_;                ///< by the pod's uid, until the claim is created
    std::unordered_map<std::string, DeviceClaims::ClaimId> created_;    ///< by the pod's uid, while pods are bound
    std::uint64_t creates_ = 0, failed_creates_ = 0;
};

}  // namespace porthole::scheduler
