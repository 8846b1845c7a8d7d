#pragma once
#include <map>
#include <memory>
#include <set>
#include <string>

#include "kubelet/volumes/csi/csi_services.h"
#include "kubelet/volumes/csi/csi_volume.h"

namespace porthole::kubelet {

/// The API's state of attachments of volumes to this node. `services` outlive it.
class CsiAttachments {
public:
    /// A driver's attachment data, which publish and stage calls receive.
    using PublishContext = std::map<std::string, std::string>;

    explicit CsiAttachments(const CsiServices& services) : services_(services) {}

    /// As upstream, waits until the node's status lists the volume as in use, so that it is not detached, and as attached. Returns
    /// immediately if the driver no longer needs attachments. Error: Timeout, or is_attach_limit_exceeded().
    Task<PublishContext> wait(const VolumeRequest& request, const CsiVolume& volume);
    /// Error: Unavailable with upstream's message, if it is not attached.
    Task<PublishContext> read(const CsiVolume& volume);

private:
    /// What the node that is watched says, remembered for the version `of`: thousands of volumes may wait, and each looks again and again.
    struct Shown {
        std::shared_ptr<const api::core::v1::Node> of;
        std::set<std::string> in_use, attached;
    };
    const Shown& shown();
    Task<bool> is_held(std::string name);
    Task<bool> is_node_full(const CsiVolume& volume);

    const CsiServices& services_;
    Shown shown_;
};

}  // namespace porthole::kubelet
