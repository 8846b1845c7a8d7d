#include "kubelet/pod_resources/pod_resources.h"

#include "objects/pod_resources.h"
#include "objects/resource_claims.h"

namespace porthole::kubelet {
namespace {

namespace core = api::core::v1;
namespace told = api::podresources::v1;

told::ContainerDevices devices_of(const std::string& resource, const std::set<std::string>& ids) {
    told::ContainerDevices devices;
    devices.resource_name = resource;
    devices.device_ids.assign(ids.begin(), ids.end());
    return devices;
}

told::DynamicResource dynamic_resource(const PreparedClaim& claim, const std::string& request) {
    told::DynamicResource resource;
    resource.claim_name = claim.name;
    resource.claim_namespace = claim.namespace_;
    for (const auto& [driver, devices] : claim.drivers)
        for (const PreparedDevice& device : devices) {
            if (!is_for(device, request)) continue;
            told::ClaimResource& one = resource.claim_resources.emplace_back();
            one.driver_name = driver;
            one.pool_name = device.pool;
            one.device_name = device.device;
            for (const std::string& id : device.cdi_ids) one.cdi_devices.emplace_back().name = id;
        }
    return resource;
}

}  // namespace

told::PodResources pod_resources(const core::Pod& pod, const DeviceAllocations& allocations, const PreparedClaims& claims) {
    told::PodResources resources;
    resources.name = pod.metadata.name;
    resources.namespace_ = pod.metadata.namespace_;
    const auto allocated = allocations.find(pod.metadata.uid);
    const auto names = objects::resource_claim_names(pod);
    const auto prepared = claims_of(claims, pod.metadata.namespace_);
    const auto add = [&](const core::Container& container) {
        told::ContainerResources& shown = resources.containers.emplace_back();
        shown.name = container.name;
        if (allocated != allocations.end())
            if (const auto own = allocated->second.find(container.name); own != allocated->second.end())
                for (const auto& [resource, devices] : own->second) shown.devices.push_back(devices_of(resource, devices.ids));
        for (const auto& wanted : container.resources.claims) {
            const auto name = names.find(wanted.name);
            if (name == names.end() || !name->second) continue;
            if (const auto claim = prepared.find(*name->second); claim != prepared.end())
                shown.dynamic_resources.push_back(dynamic_resource(*claim->second, wanted.request));
        }
        const auto& extended = pod.status.extended_resource_claim_status;
        const auto claim = extended ? prepared.find(extended->resource_claim_name) : prepared.end();
        if (claim == prepared.end()) return;
        for (const auto& mapping : extended->request_mappings)
            if (mapping.container_name == container.name)
                shown.dynamic_resources.push_back(dynamic_resource(*claim->second, mapping.request_name));
    };
    for (const core::Container& container : pod.spec.init_containers)
        if (objects::is_sidecar(container)) add(container);
    for (const core::Container& container : pod.spec.containers) add(container);
    return resources;
}

told::AllocatableResourcesResponse allocatable_resources(const std::map<std::string, std::set<std::string>>& devices) {
    told::AllocatableResourcesResponse response;
    for (const auto& [resource, ids] : devices) response.devices.push_back(devices_of(resource, ids));
    return response;
}

}  // namespace porthole::kubelet
