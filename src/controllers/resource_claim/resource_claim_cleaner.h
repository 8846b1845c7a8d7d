#pragma once
#include "api/resource_v1.h"
#include "controllers/framework/context.h"

namespace porthole::controllers {

/// Removes pods that are over from the claims' status.reservedFor. With the last one, a claim's devices are deallocated and its finalizer
/// is removed; a claim that was created for a pod that is over is deleted.
class ResourceClaimCleaner final : public client::Controller {
public:
    static constexpr const char* Account = "resource-claim-controller";
    explicit ResourceClaimCleaner(Context& context);

private:
    using Claim = api::resource::v1::ResourceClaim;
    using Consumer = api::resource::v1::ResourceClaimConsumerReference;

    Task<client::Requeue> reconcile(client::NamespacedName key) override;
    Task<bool> is_still_wanted(std::string namespace_, Consumer consumer);
    /// Writes the remaining consumers; if there are none, deallocates the claim's devices.
    Task<> release(Claim claim, std::vector<Consumer> left);
    Task<> remove_if_unused(std::shared_ptr<const Claim> claim);

    client::Client& client_;
    client::Informer<api::core::v1::Pod>& pods_;
    client::Informer<Claim>& claims_;
};

}  // namespace porthole::controllers
