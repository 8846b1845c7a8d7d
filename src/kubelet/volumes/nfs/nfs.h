#pragma once
#include "kubelet/volumes/framework/plugin.h"

namespace porthole::kubelet {

/// Mounts the share at `directory` by the node's `mount`, which needs mount.nfs of the package nfs-common. Safe to repeat. The server
/// decides about access to its files, so no fsGroup is applied. Error: Io with the program's output, in upstream's form.
Task<MountedVolume> set_up_nfs(core::NFSVolumeSource source, std::vector<std::string> mount_options, std::string directory,
                               const VolumeHost& host);

}  // namespace porthole::kubelet
