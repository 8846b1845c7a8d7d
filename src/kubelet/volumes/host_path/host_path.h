#pragma once
#include "kubelet/volumes/framework/plugin.h"

namespace porthole::kubelet {

/// Checks a path on the node against a hostPath `type`, and creates it for an "OrCreate" type. Error: BadRequest "hostPath type check
/// failed: …".
Result<void> check_host_path(FileSystem& files, const std::string& path, const std::string& type);
/// The same by a worker: the path may be on a disk or a server that does not answer.
Task<> check_host_path(core::HostPathVolumeSource source, const VolumeHost& host);

}  // namespace porthole::kubelet
