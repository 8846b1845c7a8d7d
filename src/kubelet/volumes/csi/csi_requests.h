#pragma once
#include <map>
#include <optional>
#include <string>

#include "api/csi_v1.h"
#include "api/storage_v1.h"
#include "kubelet/volumes/csi/csi_drivers.h"
#include "kubelet/volumes/csi/csi_volume.h"

namespace porthole::kubelet {

/// `driver`: its object in the API, or null. Error: BadRequest with upstream's message, for a volume in a lifecycle mode that the driver
/// does not support.
Result<void> check_lifecycle(const CsiVolume& volume, const api::storage::v1::CSIDriver* driver);

/// `driver` as above. Whether volumes have to be attached to the node before the driver is called.
bool attach_required(const api::storage::v1::CSIDriver* driver);

/// How a pod of `group` uses the volume, as passed to the driver.
api::csi::v1::VolumeCapability capability_of(const CsiVolume& volume, const CsiCapabilities& capabilities,
                                             std::optional<std::uint32_t> group);

/// Whether the kubelet itself applies the pod's fsGroup to the volume.
bool takes_fs_group(const CsiVolume& volume, const api::storage::v1::CSIDriver* driver, const CsiCapabilities& capabilities);

/// The pod information for a driver with `podInfoOnMount`.
std::map<std::string, std::string> pod_info(const core::Pod& pod, bool is_ephemeral);

}  // namespace porthole::kubelet
