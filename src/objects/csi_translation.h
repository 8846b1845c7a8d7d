#pragma once
#include <optional>
#include <string>
#include <vector>

#include "api/core_v1.h"
#include "api/storage_v1.h"
#include "base/result.h"

/// Translates volumes of types whose drivers were once part of Kubernetes to the CSI drivers that replaced them: awsElasticBlockStore,
/// azureDisk, azureFile, cinder, gcePersistentDisk, portworxVolume and vsphereVolume. Stored objects are not changed; components translate
/// what they have read.
namespace porthole::objects {

/// "ebs.csi.aws.com" for "kubernetes.io/aws-ebs"; "" for any other name.
std::string driver_of_in_tree_plugin(const std::string& plugin);
/// "kubernetes.io/aws-ebs" for "ebs.csi.aws.com"; "" for a driver that replaced none.
std::string in_tree_plugin_of_driver(const std::string& driver);

/// Of all types that are translated, in alphabetical order.
std::vector<std::string> in_tree_plugins();

/// The in-tree plug-in of the source; "" if it is of another type.
std::string in_tree_plugin_of(const api::core::v1::PersistentVolume& volume);
std::string in_tree_plugin_of(const api::core::v1::Volume& volume);

/// With a CSI source, and its zones under the driver's topology key. Other volumes are returned unchanged. Error: Invalid.
Result<api::core::v1::PersistentVolume> translated_to_csi(api::core::v1::PersistentVolume volume);
/// The PersistentVolume that is equivalent to a pod's inline volume; it is never stored. Nullopt for other volumes. Error: Invalid.
Result<std::optional<api::core::v1::PersistentVolume>> translated_to_csi(const api::core::v1::Volume& volume,
                                                                         const std::string& namespace_);
/// With the driver's parameters and topology keys. The provisioner is not changed, except for Portworx. Other classes are returned
/// unchanged. Error: Invalid.
Result<api::storage::v1::StorageClass> translated_to_csi(api::storage::v1::StorageClass storage_class);

}  // namespace porthole::objects
