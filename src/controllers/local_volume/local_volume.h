#pragma once
#include "api/storage_v1.h"
#include "controllers/framework/context.h"

namespace porthole::controllers {

/// Creates and deletes the volumes of classes whose provisioner is local.porthole.io.
///
/// A claim is handled once the scheduler has selected a node for its first pod, and the binder has requested a provisioner, which it does
/// if no existing volume fits. The volume is called pvc-<uid of the claim>, so that repeating a step creates no second one. The volumes of
/// a node together are not larger than its allocatable storage; a claim that would exceed it is returned to the scheduler.
///
/// Claims and volumes share one queue: a key without a namespace is a volume's.
class LocalVolumeProvisioner final : public client::Controller {
public:
    static constexpr const char* Account = "local-volume-provisioner";
    explicit LocalVolumeProvisioner(Context& context);

private:
    using Node = api::core::v1::Node;
    using PersistentVolume = api::core::v1::PersistentVolume;
    using PersistentVolumeClaim = api::core::v1::PersistentVolumeClaim;
    using StorageClass = api::storage::v1::StorageClass;
    using ClaimRef = std::shared_ptr<const PersistentVolumeClaim>;
    using VolumeRef = std::shared_ptr<const PersistentVolume>;

    Task<client::Requeue> reconcile(client::NamespacedName key) override;

    Task<> provision(ClaimRef claim);
    /// Why the volume cannot be created at all; "" if it can.
    std::string refusal(const PersistentVolumeClaim& claim, const StorageClass& storage_class) const;
    Task<> give_back(ClaimRef claim, std::string message);
    Task<> sync_volume(VolumeRef volume);

    client::Client& client_;
    client::EventRecorder& events_;
    client::Informer<PersistentVolumeClaim>& claims_;
    client::Informer<PersistentVolume>& volumes_;
    client::Informer<StorageClass>& classes_;
    client::Informer<Node>& nodes_;
    client::Informer<PersistentVolume>::Index by_node_;
};

}  // namespace porthole::controllers
