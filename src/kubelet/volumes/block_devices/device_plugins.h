#pragma once
#include <optional>

#include "kubelet/volumes/block_devices/device_volumes.h"

namespace porthole::kubelet {

/// Whether the volume is on a device of another machine: iSCSI or Fibre Channel.
bool is_on_device(const core::PersistentVolume& volume);

/// Sets up such a volume for its claim, mounted with the SELinux `context` unless that is "". `devices`: null if the node has none.
Task<MountedVolume> set_up_device(const VolumeRequest& request, std::shared_ptr<const core::PersistentVolume> volume, bool read_only,
                                  std::string context, client::Client& client, DeviceVolumes* devices);

}  // namespace porthole::kubelet
