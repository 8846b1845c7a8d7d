#pragma once
#include <optional>
#include <string>

#include "api/core_v1.h"
#include "api/storage_v1.h"
#include "base/result.h"

/// The volume types that Kubernetes once had drivers of its own for, as the CSI drivers see them that took over: awsElasticBlockStore,
/// azureDisk, azureFile, cinder, gcePersistentDisk, portworxVolume and vsphereVolume. The objects stay as they were written; who works with
/// them translates what it has read.
namespace porthole::objects {

/// "ebs.csi.aws.com" for "kubernetes.io/aws-ebs"; "" for any other name.
std::string driver_of_in_tree_plugin(const std::string& plugin);
/// "kubernetes.io/aws-ebs" for "ebs.csi.aws.com"; "" for a driver that took nothing over.
std::string in_tree_plugin_of_driver(const std::string& driver);

/// The in-tree plug-in of the source; "" for none of those above.
std::string in_tree_plugin_of(const api::core::v1::PersistentVolume& volume);
std::string in_tree_plugin_of(const api::core::v1::Volume& volume);

/// With a CSI source, and its zones under the driver's topology key. Other volumes are returned as they are. Error: Invalid.
Result<api::core::v1::PersistentVolume> translated_to_csi(api::core::v1::PersistentVolume volume);
/// The PersistentVolume that a pod's inline volume stands for, which is stored nowhere. Nothing for other volumes. Error: Invalid.
Result<std::optional<api::core::v1::PersistentVolume>> translated_to_csi(const api::core::v1::Volume& volume,
                                                                         const std::string& namespace_);
/// With the driver's parameters and topology keys; the provisioner stays as it is, but for that of Portworx. Other classes are returned as
/// they are. Error: Invalid.
Result<api::storage::v1::StorageClass> translated_to_csi(api::storage::v1::StorageClass storage_class);

}  // namespace porthole::objects
