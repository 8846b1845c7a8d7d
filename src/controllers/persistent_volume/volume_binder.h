#pragma once
#include "api/storage_v1.h"
#include "controllers/framework/context.h"

namespace porthole::controllers {

/// Binds claims and volumes and maintains the phases of both.
///
/// A binding is written in four steps, after each of which the process may crash: the volume's claimRef, the volume's phase, the claim's
/// volumeName, the claim's phase. A later reconcile of either completes it. Example: volume v of 5Gi and claim c of 3Gi, both of class
/// "fast": v.claimRef = c, v Bound, c.volumeName = v, c Bound with 5Gi.
///
/// Claims and volumes share one queue: a key without a namespace is a volume's.
class VolumeBinder final : public client::Controller {
public:
    static constexpr const char* Account = "persistent-volume-binder";
    explicit VolumeBinder(Context& context);

private:
    using Node = api::core::v1::Node;
    using PersistentVolume = api::core::v1::PersistentVolume;
    using PersistentVolumeClaim = api::core::v1::PersistentVolumeClaim;
    using StorageClass = api::storage::v1::StorageClass;
    using ClaimRef = std::shared_ptr<const PersistentVolumeClaim>;
    using VolumeRef = std::shared_ptr<const PersistentVolume>;

    Task<client::Requeue> reconcile(client::NamespacedName key) override;

    /// Returns whether it has changed the annotations or finalizers of an in-tree volume or claim, which is then reconciled again.
    Task<bool> hand_over(ClaimRef claim);
    Task<bool> hand_over(VolumeRef volume);

    Task<> sync_claim(ClaimRef claim);
    Task<> sync_bound_claim(ClaimRef claim);
    Task<> bind(ClaimRef claim, VolumeRef volume);
    Task<> lose(ClaimRef claim, std::string reason, std::string message);
    /// No volume fits: reports why, or requests one from the class's provisioner.
    Task<> wait_for_volume(ClaimRef claim);
    Task<> ask_provisioner(ClaimRef claim, std::string provisioner);
    void tell_waiting_for_consumer(const PersistentVolumeClaim& claim);
    /// For claims that were created before there was one.
    std::string default_class() const;
    bool waits_for_consumer(const PersistentVolumeClaim& claim) const;
    std::shared_ptr<const Node> selected_node(const PersistentVolumeClaim& claim) const;

    Task<> sync_volume(VolumeRef volume);
    /// Its claim no longer exists, or has another volume.
    Task<> release(VolumeRef volume);
    Task<> set_phase(VolumeRef volume, std::string phase, std::string reason = "", std::string message = "");
    Task<> set_pending(ClaimRef claim);
    void retry_unbound_claims();

    client::Client& client_;
    client::EventRecorder& events_;
    client::Informer<PersistentVolumeClaim>& claims_;
    client::Informer<PersistentVolume>& volumes_;
    client::Informer<StorageClass>& classes_;
    client::Informer<Node>& nodes_;
    client::Informer<PersistentVolumeClaim>::Index by_volume_;  // "" for those without a volume
    client::Informer<api::core::v1::Pod>::Index pods_by_claim_;
};

}  // namespace porthole::controllers
