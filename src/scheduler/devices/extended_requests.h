#pragma once
#include <map>
#include <string>
#include <vector>

#include "api/core_v1.h"
#include "api/resource_v1.h"

namespace porthole::scheduler {

/// Extended resources of a pod as requests of a ResourceClaim. https://kep.k8s.io/5004
struct ExtendedRequests {
    std::vector<api::resource::v1::DeviceRequest> requests;  ///< by name: "container-0-request-1"
    std::vector<api::core::v1::ContainerExtendedResourceRequest> mappings;
};

/// `classes` has the device class of each resource that is to be satisfied by devices. An init container that ends before the containers
/// start uses devices of theirs, and shares what it needs in addition with its like.
ExtendedRequests extended_requests(const api::core::v1::Pod& pod, const std::map<std::string, std::string>& classes);

}  // namespace porthole::scheduler
