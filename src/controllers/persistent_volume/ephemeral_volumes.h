#pragma once
#include "controllers/framework/context.h"

namespace porthole::controllers {

/// Creates the claims of pods' ephemeral volumes. They are owned by their pod, and deleted with it.
class EphemeralVolumeController final : public client::Controller {
public:
    static constexpr const char* Account = "ephemeral-volume-controller";
    explicit EphemeralVolumeController(Context& context);

private:
    using Pod = api::core::v1::Pod;
    using Claim = api::core::v1::PersistentVolumeClaim;

    Task<client::Requeue> reconcile(client::NamespacedName key) override;
    /// `volume` is one of the pod's.
    Task<> ensure_claim(std::shared_ptr<const Pod> pod, const api::core::v1::Volume& volume);

    client::Client& client_;
    client::EventRecorder& events_;
    client::Informer<Pod>& pods_;
    client::Informer<Claim>& claims_;
    client::Informer<Pod>::Index pods_by_claim_;
};

}  // namespace porthole::controllers
