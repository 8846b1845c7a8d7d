#pragma once
#include <map>
#include <string>
#include <vector>

#include "api/core_v1.h"
#include "kubelet/volumes/framework/plugin.h"

namespace porthole::kubelet {

/// A volume of a CSI driver, as requested by a pod.
struct CsiVolume {
    std::string name;  ///< the PersistentVolume's, or that of the pod's volume
    std::string driver, handle, fs_type;
    bool read_only = false, is_block = false;
    bool is_ephemeral = false;  ///< created for the pod, and deleted with it
    std::vector<std::string> access_modes, mount_options;
    std::string context;  ///< of SELinux, that it is to be mounted with; "" for none
    std::map<std::string, std::string> attributes;
    schema::Box<core::SecretReference> stage_secret, publish_secret, expand_secret;

    static CsiVolume of(const core::PersistentVolume& volume, bool read_only);
    /// Requires: volume.csi.
    static CsiVolume of(const core::Pod& pod, const core::Volume& volume);
};

/// `step` failed, as messages begin.
std::string failed_csi_step(const char* step, const std::string& volume);
/// The current step, with upstream's message for mounts and for devices.
VolumeStep csi_step(const CsiVolume& volume, const char* mount_step, const char* map_step);

}  // namespace porthole::kubelet
