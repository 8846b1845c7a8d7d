#pragma once
#include <map>
#include <optional>
#include <string>

#include "api/csi_v1.h"
#include "api/storage_v1.h"
#include "kubelet/volumes/csi/csi_drivers.h"
#include "kubelet/volumes/csi/csi_volume.h"

namespace porthole::kubelet {

/// `driver`: its object in the API; null where there is none. Error: BadRequest, in upstream's words, for a volume in a lifecycle mode that
/// the driver does not have.
Result<void> check_lifecycle(const CsiVolume& volume, const api::storage::v1::CSIDriver* driver);

/// As above. Whether volumes have to be attached to the node before a driver is asked for them.
bool attach_required(const api::storage::v1::CSIDriver* driver);

/// How a pod of `group` uses the volume, in the terms that the driver knows.
api::csi::v1::VolumeCapability capability_of(const CsiVolume& volume, const CsiCapabilities& capabilities,
                                             std::optional<std::uint32_t> group);

/// Whether the kubelet gives the volume to the pod's group itself.
bool takes_fs_group(const CsiVolume& volume, const api::storage::v1::CSIDriver* driver, const CsiCapabilities& capabilities);

/// What a driver with `podInfoOnMount` is told.
std::map<std::string, std::string> pod_info(const core::Pod& pod, bool is_ephemeral);

}  // namespace porthole::kubelet
