#pragma once
#include "api/core_v1.h"

/// What the provisioner of local volumes, the API server and the kubelets have to agree on.
namespace porthole::objects::local_volume {

/// The provisioner that classes name, and the driver of its volumes.
inline constexpr const char* Driver = "local.porthole.io";
/// Of a volume: the name of the node that its data are on.
inline constexpr const char* NodeLabel = "local.porthole.io/node";
/// Of a volume: taken away by its node, when the data have been dealt with as the volume's reclaim policy says.
inline constexpr const char* Finalizer = "local.porthole.io/node-data";
/// A parameter of classes and an attribute of volumes: whether a volume may be made whose size nothing enforces. Without it, that may be on
/// nodes whose system has no means, which is Windows, and not on others.
inline constexpr const char* SizeEnforcement = "sizeEnforcement";
inline constexpr const char *Required = "Required", *BestEffort = "BestEffort";

inline bool is_local(const api::core::v1::PersistentVolume& volume) { return volume.spec.csi && volume.spec.csi->driver == Driver; }
/// "" for a volume that is on none.
inline std::string node_of(const api::core::v1::PersistentVolume& volume) {
    const auto found = volume.metadata.labels.find(NodeLabel);
    return !is_local(volume) || found == volume.metadata.labels.end() ? "" : found->second;
}

}  // namespace porthole::objects::local_volume
