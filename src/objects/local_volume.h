#pragma once
#include "api/core_v1.h"

/// Names and rules of local volumes that the provisioner, the API server and the kubelets share.
namespace porthole::objects::local_volume {

/// The provisioner that classes name, and the driver of its volumes.
inline constexpr const char* Driver = "local.porthole.io";
/// Of a volume: the name of the node that its data are on.
inline constexpr const char* NodeLabel = "local.porthole.io/node";
/// Of a volume: removed by its node once the data have been handled as the volume's reclaim policy requires.
inline constexpr const char* Finalizer = "local.porthole.io/node-data";
/// A parameter of classes and an attribute of volumes: whether a volume may be created whose size is not enforced. Without it, this is
/// allowed on nodes whose system cannot enforce sizes, which is Windows, and refused on others.
inline constexpr const char* SizeEnforcement = "sizeEnforcement";
inline constexpr const char *Required = "Required", *BestEffort = "BestEffort";

inline bool is_local(const api::core::v1::PersistentVolume& volume) { return volume.spec.csi && volume.spec.csi->driver == Driver; }
/// "" for a volume that is on none.
inline std::string node_of(const api::core::v1::PersistentVolume& volume) {
    const auto found = volume.metadata.labels.find(NodeLabel);
    return !is_local(volume) || found == volume.metadata.labels.end() ? "" : found->second;
}

}  // namespace porthole::objects::local_volume
