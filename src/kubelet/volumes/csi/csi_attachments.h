#pragma once
#include <map>
#include <string>

#include "kubelet/volumes/csi/csi_services.h"
#include "kubelet/volumes/csi/csi_volume.h"

namespace porthole::kubelet {

/// What the API says of the attachment of volumes to this node. `services` outlive it.
class CsiAttachments {
public:
    /// What a driver is told of an attachment.
    using PublishContext = std::map<std::string, std::string>;

    explicit CsiAttachments(const CsiServices& services) : services_(services) {}

    /// As upstream: not before the node's status says that the volume is in use, so that no one detaches it, and that it is attached. At
    /// once where the driver wants no attachment any longer. Error: Timeout, or is_attach_limit_exceeded().
    Task<PublishContext> wait(const VolumeRequest& request, const CsiVolume& volume);
    /// Error: Unavailable, in upstream's words, when it is not attached.
    Task<PublishContext> read(const CsiVolume& volume);

private:
    Task<bool> is_held(std::string name);
    Task<bool> is_node_full(const CsiVolume& volume);

    const CsiServices& services_;
};

}  // namespace porthole::kubelet
