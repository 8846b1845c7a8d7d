#pragma once
#include "api/storage_v1.h"
#include "controllers/framework/context.h"

namespace porthole::controllers {

/// Delays the deletion of VolumeAttributesClasses that a claim or a volume uses.
class VolumeAttributesClassProtection final : public client::Controller {
public:
    static constexpr const char* Account = "volumeattributesclass-protection-controller";
    explicit VolumeAttributesClassProtection(Context& context);

private:
    using Class = api::storage::v1::VolumeAttributesClass;
    using Claim = api::core::v1::PersistentVolumeClaim;
    using Volume = api::core::v1::PersistentVolume;

    Task<client::Requeue> reconcile(client::NamespacedName key) override;

    client::Client& client_;
    client::Informer<Class>& classes_;
    client::Informer<Claim>::Index claims_;
    client::Informer<Volume>::Index volumes_;
};

}  // namespace porthole::controllers
