#pragma once
#include "kubelet/volumes/block_devices/device_kind.h"
#include "runtime/event_loop.h"
#include "runtime/files/file_system.h"
#include "runtime/processes/process.h"

namespace porthole::kubelet {

/// Disks of Fibre Channel targets, found by the names that the kernel and udev give them. Parameters: wwns (with commas) and lun, or wwids
/// (with commas).
std::unique_ptr<DeviceKind> make_fibre_channel_devices(EventLoop& loop, FileSystem& files, ProcessRunner& programs);

}  // namespace porthole::kubelet
