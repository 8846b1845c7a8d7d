#pragma once
#include <string>
#include <vector>

#include "runtime/event_loop.h"
#include "runtime/files/file_system.h"
#include "runtime/processes/process.h"

namespace porthole::kubelet {

/// The device that the first working link in `links` (below /dev/disk) leads to: "/dev/sdb". If the device is part of a multipath device,
/// the multipath device: "/dev/dm-0". "" for none.
std::string find_device(const std::vector<std::string>& links, FileSystem& files);

/// All devices that `links` lead to, and the multipath devices built on them.
std::vector<std::string> find_devices(const std::vector<std::string>& links, FileSystem& files);

/// As find_device(), checking once per second for ten seconds. Error: Timeout with the name of the device.
Task<std::string> wait_for_device(std::vector<std::string> links, std::string what, EventLoop& loop, FileSystem& files);

/// Removes the devices that `links` lead to, and their multipath device, from the kernel's list. Succeeds for devices that do not exist.
Task<> remove_devices(std::vector<std::string> links, FileSystem& files, ProcessRunner& programs);

}  // namespace porthole::kubelet
