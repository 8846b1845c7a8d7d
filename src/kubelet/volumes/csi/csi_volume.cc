#include "kubelet/volumes/csi/csi_volume.h"

#include "net/tls/crypto.h"

namespace porthole::kubelet {

CsiVolume CsiVolume::of(const core::PersistentVolume& volume, bool read_only) {
    const core::CSIPersistentVolumeSource& source = *volume.spec.csi;
    CsiVolume made;
    made.name = volume.metadata.name;
    made.driver = source.driver;
    made.handle = source.volume_handle;
    made.fs_type = source.fs_type;
    made.read_only = read_only;
    made.is_block = volume.spec.volume_mode.value_or("") == core::PersistentVolumeMode::Block;
    made.access_modes = volume.spec.access_modes;
    made.mount_options = volume.spec.mount_options;
    made.attributes = source.volume_attributes;
    made.stage_secret = source.node_stage_secret_ref;
    made.publish_secret = source.node_publish_secret_ref;
    made.expand_secret = source.node_expand_secret_ref;
    return made;
}

CsiVolume CsiVolume::of(const core::Pod& pod, const core::Volume& volume) {
    const core::CSIVolumeSource& source = *volume.csi;
    CsiVolume made;
    made.name = volume.name;
    made.driver = source.driver;
    made.handle = "csi-" + net::sha256_hex(pod.metadata.uid + volume.name);
    made.fs_type = source.fs_type.value_or("");
    made.read_only = source.read_only.value_or(false);
    made.is_ephemeral = true;
    made.attributes = source.volume_attributes;
    if (source.node_publish_secret_ref) {
        made.publish_secret.emplace().name = source.node_publish_secret_ref->name;
        made.publish_secret->namespace_ = pod.metadata.namespace_;
    }
    return made;
}

std::string failed_csi_step(const char* step, const std::string& volume) {
    return std::string(step) + " failed for volume \"" + volume + "\" : ";
}

VolumeStep csi_step(const CsiVolume& volume, const char* mount_step, const char* map_step) {
    return volume.is_block ? VolumeStep{"FailedMapVolume", failed_csi_step(map_step, volume.name)}
                           : VolumeStep{"FailedMount", failed_csi_step(mount_step, volume.name)};
}

}  // namespace porthole::kubelet
