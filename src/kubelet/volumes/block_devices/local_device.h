#pragma once
#include <memory>

#include "kubelet/volumes/block_devices/device_kind.h"
#include "runtime/files/file_system.h"

namespace porthole::kubelet {

/// Devices that the node has anyway, for `local` volumes with a file system. Details: path.
std::unique_ptr<DeviceKind> make_local_devices(FileSystem& files);

}  // namespace porthole::kubelet
