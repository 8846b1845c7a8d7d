#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "api/core_v1.h"

/// Names of CSI volumes that the control plane and the kubelets share.
namespace porthole::objects {

/// "kubernetes.io/csi/<driver>^<handle>", as in volumesAttached and volumesInUse of a node's status.
std::string unique_volume_name(const std::string& driver, const std::string& handle);
inline std::string unique_volume_name(const api::core::v1::CSIPersistentVolumeSource& source) {
    return unique_volume_name(source.driver, source.volume_handle);
}

/// The parts of a unique volume name.
struct CsiVolumeName {
    std::string driver, handle;
};
/// Nullopt for the name of another kind of volume.
std::optional<CsiVolumeName> parse_unique_volume_name(std::string_view name);

/// "csi-<SHA-256 of handle, driver and node>": the VolumeAttachment of a volume and a node.
std::string attachment_name(const std::string& driver, const std::string& handle, const std::string& node);

}  // namespace porthole::objects
