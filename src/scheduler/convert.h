#pragma once
#include "api/core_v1.h"
#include "scheduler/framework/cluster.h"

namespace porthole::scheduler {

/// What placement needs of a pod. Malformed parts, which the API refuses, count as absent.
PodInfo pod_info(const api::core::v1::Pod& pod);
NodeSpec node_spec(const api::core::v1::Node& node);
VolumeInfo volume_info(const api::core::v1::PersistentVolume& volume);
/// An absent selector matches nothing.
Selector selector(const schema::Box<api::meta::v1::LabelSelector>& selector);

}  // namespace porthole::scheduler
