#pragma once
#include "kubelet/volumes/framework/plugin.h"

namespace porthole::kubelet {

/// Mounts the share at `directory` by the node's `mount`, which needs mount.nfs of the package nfs-common. Safe to repeat. The server
/// decides who may do what with its files: no fsGroup is applied. Error: Io, with the program's words as upstream tells them.
Task<MountedVolume> set_up_nfs(core::NFSVolumeSource source, std::vector<std::string> mount_options, std::string directory,
                               VolumeServices& services);

}  // namespace porthole::kubelet
