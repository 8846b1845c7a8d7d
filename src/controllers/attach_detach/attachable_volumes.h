#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/storage_v1.h"
#include "controllers/framework/context.h"

namespace porthole::controllers {

/// A volume to attach, and the pods that use it.
struct WantedVolume {
    using PodRef = std::shared_ptr<const api::core::v1::Pod>;

    std::string title;  ///< the name of its PersistentVolume, for messages
    api::storage::v1::VolumeAttachmentSource source;
    bool exclusive = false;  ///< only one node at a time may have it
    std::map<std::string, std::vector<PodRef>> nodes;
};

/// The volumes that need to be attached, from the informers of pods, claims, PersistentVolumes and CSIDrivers, which outlive it. Volumes
/// are identified by their unique names: see objects/csi_volume.h. In-tree volumes count as volumes of the driver that has replaced theirs.
class AttachableVolumes {
public:
    using Pod = api::core::v1::Pod;
    using PersistentVolume = api::core::v1::PersistentVolume;
    using Attachment = api::storage::v1::VolumeAttachment;

    explicit AttachableVolumes(client::Informers& informers);

    /// The volume, and the nodes that the controller manages and that have pods that use it. Nullopt: there are none, or the driver needs
    /// no attaching.
    std::optional<WantedVolume> find_wanted(const std::string& volume) const;
    /// The volumes of the pod that are known so far.
    std::vector<std::string> names_of(const Pod& pod) const;
    std::vector<std::string> names_of_claim(const std::string& namespace_, const std::string& claim) const;
    /// "" for a volume of no CSI driver.
    static std::string name_of(const PersistentVolume& volume);
    /// "" if the PersistentVolume is unknown, or this controller did not create the attachment: its name is not that for volume and node.
    std::string name_of(const Attachment& attachment) const;
    std::vector<std::string> names_of_driver(const std::string& driver) const;
    /// The pods that may have a volume of a CSI driver.
    std::vector<WantedVolume::PodRef> pods_with_volumes() const { return pods_with_volumes_.find(""); }

    /// Whether the pod's containers have ended for good.
    static bool is_over(const Pod& pod);

private:
    using PersistentVolumeClaim = api::core::v1::PersistentVolumeClaim;
    using VolumeRef = std::shared_ptr<const PersistentVolume>;

    void follow_inline_volumes();
    void add_pods(const std::vector<WantedVolume::PodRef>& pods, WantedVolume& wanted) const;
    std::vector<WantedVolume::PodRef> users_of(const PersistentVolumeClaim& claim) const;
    /// The volume that the claim is bound to, with a CSI source; null for none.
    VolumeRef bound_volume(const PersistentVolumeClaim& claim) const;
    bool is_managed(const std::string& node) const;

    client::Informer<Pod>& pods_;
    client::Informer<PersistentVolumeClaim>& claims_;
    client::Informer<PersistentVolume>& volumes_;
    client::Informer<api::core::v1::Node>& nodes_;
    client::Informer<api::storage::v1::CSIDriver>& drivers_;
    client::Informer<Pod>::Index pods_by_claim_, pods_by_own_claim_, pods_with_volumes_;
    client::Informer<PersistentVolume>::Index volumes_by_name_;
    /// By name of an in-tree volume: the pods that have it, and where in their list. A pod may have thousands, each of which is looked for.
    std::map<std::string, std::map<client::NamespacedName, std::size_t>> inline_volumes_;
};

}  // namespace porthole::controllers
