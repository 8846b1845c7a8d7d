#pragma once
#include <map>
#include <set>
#include <string>

#include "api/core_v1.h"
#include "api/podresources_v1.h"
#include "kubelet/device_plugins/device_allocations.h"
#include "kubelet/devices/prepared_claims.h"

namespace porthole::kubelet {

/// The devices of the pod's containers and sidecars: of device plugins, and of the ResourceClaims that they name. Processors and memory
/// are not given to one container alone, so there are none.
api::podresources::v1::PodResources pod_resources(const api::core::v1::Pod& pod, const DeviceAllocations& allocations,
                                                  const PreparedClaims& claims);
/// The devices that pods can have, by resource.
api::podresources::v1::AllocatableResourcesResponse allocatable_resources(const std::map<std::string, std::set<std::string>>& devices);

}  // namespace porthole::kubelet
