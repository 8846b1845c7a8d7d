#pragma once
#include "controllers/framework/context.h"

namespace porthole::controllers {

/// Lets a claim go once no pod that has not ended uses it, and a volume once no claim is bound to it: until then their finalizers
/// hold them. Keys without a namespace are volumes'.
class VolumeProtection final : public client::Controller {
public:
    explicit VolumeProtection(Context& context);

private:
    using Pod = api::core::v1::Pod;
    using Claim = api::core::v1::PersistentVolumeClaim;
    using Volume = api::core::v1::PersistentVolume;

    Task<client::Requeue> reconcile(client::NamespacedName key) override;
    Task<> release_claim(std::shared_ptr<const Claim> claim);
    /// Asks the API: a pod that was made a moment ago may not be in the cache.
    Task<bool> is_used(const Claim& claim);

    client::Client& client_;
    client::Informer<Pod>& pods_;
    client::Informer<Claim>& claims_;
    client::Informer<Volume>& volumes_;
    client::Informer<Pod>::Index by_claim_;
};

}  // namespace porthole::controllers
