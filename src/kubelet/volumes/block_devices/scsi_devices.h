#pragma once
#include <string>
#include <vector>

#include "runtime/event_loop.h"
#include "runtime/files/file_system.h"
#include "runtime/processes/process.h"

namespace porthole::kubelet {

/// The first of `links`, below /dev/disk, that leads to a device: "/dev/sdb". Where a multipath device is made of it, that one:
/// "/dev/dm-0". "" for none.
std::string find_device(const std::vector<std::string>& links, FileSystem& files);

/// All devices that `links` lead to, and the multipath devices made of them.
std::vector<std::string> find_devices(const std::vector<std::string>& links, FileSystem& files);

/// As find_device(), looking once a second for ten seconds. Error: Timeout, naming what was waited for.
Task<std::string> wait_for_device(std::vector<std::string> links, std::string what, EventLoop& loop, FileSystem& files);

/// Takes the devices that `links` lead to from the kernel's list, with the multipath device made of them. Success for those that are gone.
Task<> remove_devices(std::vector<std::string> links, FileSystem& files, ProcessRunner& programs);

}  // namespace porthole::kubelet
