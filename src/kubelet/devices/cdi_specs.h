#pragma once
#include <string>
#include <vector>

#include "api/cri_v1.h"
#include "base/result.h"
#include "runtime/files/file_system.h"

namespace porthole::kubelet {

/// Adds to a container what the Container Device Interface's specifications of the node, in /etc/cdi and /var/run/cdi, say of the devices
/// with these ids ("vendor.com/class=name"), as a container runtime that knows CDI does: variables, device nodes, mounts. Of two files that
/// name a device the one in /var/run/cdi counts. Error: NotFound for a device that no file names; BadRequest for a file that is at fault,
/// or asks for what only the runtime can do, such as hooks.
Result<void> add_cdi_devices(FileSystem& files, const std::vector<std::string>& ids, api::cri::v1::ContainerConfig& config);

/// Whether the runtime ("containerd://1.6.20") does that itself, without being configured to: containerd from 2.0 on, and all others.
bool runtime_knows_cdi(const std::string& runtime);

}  // namespace porthole::kubelet
