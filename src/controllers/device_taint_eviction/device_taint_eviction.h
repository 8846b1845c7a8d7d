#pragma once
#include <map>
#include <optional>

#include "api/resource_v1.h"
#include "controllers/framework/context.h"

namespace porthole::controllers {

/// Deletes pods that use a device with a NoExecute taint, at once or when the toleration that was copied into the claim's allocation has
/// expired, counted from the taint's timeAdded. Acts on the taints of ResourceSlices; DeviceTaintRules, which
/// Kubernetes 1.36 does not serve by default, are not served.
class DeviceTaintEvictionController final : public client::Controller {
public:
    static constexpr const char* Account = "device-taint-eviction-controller";
    explicit DeviceTaintEvictionController(Context& context);

private:
    using Pod = api::core::v1::Pod;
    using Claim = api::resource::v1::ResourceClaim;
    using Slice = api::resource::v1::ResourceSlice;

    Task<client::Requeue> reconcile(client::NamespacedName key) override;

    void look_at_pods_of(const Claim& claim);
    void look_at_pods_of(const Slice& slice);
    /// nullopt if the pod may stay.
    std::optional<SystemTime> time_to_evict(const Pod& pod) const;
    std::optional<SystemTime> time_to_evict(const api::resource::v1::DeviceRequestAllocationResult& device) const;
    /// Null if no slice of the pool's newest generation has the device.
    const api::resource::v1::Device* find_device(const api::resource::v1::DeviceRequestAllocationResult& allocated) const;

    client::Client& client_;
    client::EventRecorder& events_;
    client::Informer<Pod>& pods_;
    client::Informer<Claim>& claims_;
    client::Informer<Slice>& slices_;
    client::Informer<Claim>::Index claims_by_pool_;
    client::Informer<Slice>::Index slices_by_pool_;
    std::map<client::NamespacedName, std::string> pending_;  ///< pods that will be evicted, with their uids
};

}  // namespace porthole::controllers
