#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/storage_v1.h"
#include "controllers/framework/context.h"

namespace porthole::controllers {

/// A volume that is to be attached, and the pods that want it.
struct WantedVolume {
    using PodRef = std::shared_ptr<const api::core::v1::Pod>;

    std::string title;  ///< what messages call it: the name of its PersistentVolume
    api::storage::v1::VolumeAttachmentSource source;
    bool exclusive = false;  ///< only one node at a time may have it
    std::map<std::string, std::vector<PodRef>> nodes;
};

/// What pods, claims, PersistentVolumes and CSIDrivers say of the volumes that need to be attached, read from the informers, which outlive
/// it. Volumes are known by their unique names: see objects/csi_volume.h. In-tree volumes count as volumes of the driver that took over.
class AttachableVolumes {
public:
    using Pod = api::core::v1::Pod;
    using PersistentVolume = api::core::v1::PersistentVolume;
    using Attachment = api::storage::v1::VolumeAttachment;

    explicit AttachableVolumes(client::Informers& informers);

    /// The volume, with the nodes that are managed by the controller and have pods that want it. Nothing: none does, or the driver needs no
    /// attaching.
    std::optional<WantedVolume> find_wanted(const std::string& volume) const;
    /// Of the volumes that are known by now.
    std::vector<std::string> names_of(const Pod& pod) const;
    std::vector<std::string> names_of_claim(const std::string& namespace_, const std::string& claim) const;
    /// "" for a volume of no CSI driver.
    static std::string name_of(const PersistentVolume& volume);
    /// "" where the PersistentVolume is not known, or the attachment was not made by this controller: it is not named for volume and node.
    std::string name_of(const Attachment& attachment) const;
    std::vector<std::string> names_of_driver(const std::string& driver) const;

    /// Whether the pod's containers have ended for good.
    static bool is_over(const Pod& pod);

private:
    using PersistentVolumeClaim = api::core::v1::PersistentVolumeClaim;
    using VolumeRef = std::shared_ptr<const PersistentVolume>;

    void add_pods(const std::vector<WantedVolume::PodRef>& pods, WantedVolume& wanted) const;
    /// The volume that the claim is bound to, with a CSI source; null for none.
    VolumeRef bound_volume(const PersistentVolumeClaim& claim) const;
    bool is_managed(const std::string& node) const;

    client::Informer<Pod>& pods_;
    client::Informer<PersistentVolumeClaim>& claims_;
    client::Informer<PersistentVolume>& volumes_;
    client::Informer<api::core::v1::Node>& nodes_;
    client::Informer<api::storage::v1::CSIDriver>& drivers_;
    client::Informer<Pod>::Index pods_by_claim_, pods_by_inline_volume_;
    client::Informer<PersistentVolume>::Index volumes_by_name_;
};

}  // namespace porthole::controllers
