#pragma once
#include <string>
#include <vector>

#include "api/cri_v1.h"
#include "base/result.h"
#include "runtime/files/file_system.h"

namespace porthole::kubelet {

/// Adds the variables, device nodes and mounts of the devices with these ids ("vendor.com/class=name") to a container, as a container
/// runtime with support for the Container Device Interface does. They come from the node's specifications in /etc/cdi and /var/run/cdi; if
/// two files name a device, the one in /var/run/cdi is used. Errors: NotFound for a device that no file names; BadRequest for an invalid
/// file, or one that needs a feature that only the runtime has, such as hooks.
Result<void> add_cdi_devices(FileSystem& files, const std::vector<std::string>& ids, api::cri::v1::ContainerConfig& config);

/// Whether the runtime ("containerd://1.6.20") does that itself by default: containerd from 2.0 on, and all other runtimes.
bool runtime_knows_cdi(const std::string& runtime);

}  // namespace porthole::kubelet
