#pragma once
#include "controllers/framework/context.h"

namespace porthole::controllers {

/// Begins to expand volumes whose claim requests more than it has. For local ones it writes the new size into the volume, and the node's
/// kubelet does the rest. All others are expanded by their driver's own controller, and the claim's events say so.
class VolumeExpander final : public client::Controller {
public:
    static constexpr const char* Account = "expand-controller";
    explicit VolumeExpander(Context& context);

private:
    using PersistentVolume = api::core::v1::PersistentVolume;
    using PersistentVolumeClaim = api::core::v1::PersistentVolumeClaim;
    using ClaimRef = std::shared_ptr<const PersistentVolumeClaim>;

    Task<client::Requeue> reconcile(client::NamespacedName key) override;
    /// The annotation tells the driver that replaced an in-tree plug-in that the claim is for it.
    Task<> hand_over(ClaimRef claim, std::string plugin);
    Task<> expand(ClaimRef claim, std::shared_ptr<const PersistentVolume> volume);

    client::Client& client_;
    client::EventRecorder& events_;
    client::Informer<PersistentVolumeClaim>& claims_;
    client::Informer<PersistentVolume>& volumes_;
};

}  // namespace porthole::controllers
