#pragma once
#include "controllers/framework/context.h"

namespace porthole::controllers {

/// Gives claims their finalizer, and removes that of a deleted one once no pod that was bound to a node uses it. A pod that has ended does
/// until it is deleted.
class ClaimProtection final : public client::Controller {
public:
    static constexpr const char* Account = "pvc-protection-controller";
    explicit ClaimProtection(Context& context);

private:
    using Pod = api::core::v1::Pod;
    using Claim = api::core::v1::PersistentVolumeClaim;

    Task<client::Requeue> reconcile(client::NamespacedName key) override;
    /// Asks the API, because the cache may lack a pod that was just created.
    Task<bool> is_used(const Claim& claim);

    client::Client& client_;
    client::Informer<Pod>& pods_;
    client::Informer<Claim>& claims_;
    client::Informer<Pod>::Index by_claim_;
};

/// Gives volumes their finalizer, and removes that of a deleted one once no claim is bound to it.
class VolumeProtection final : public client::Controller {
public:
    static constexpr const char* Account = "pv-protection-controller";
    explicit VolumeProtection(Context& context);

private:
    using Volume = api::core::v1::PersistentVolume;

    Task<client::Requeue> reconcile(client::NamespacedName key) override;

    client::Client& client_;
    client::Informer<Volume>& volumes_;
};

}  // namespace porthole::controllers
