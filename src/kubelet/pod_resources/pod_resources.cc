#include "kubelet/pod_resources/pod_resources.h"

#include <unordered_map>

#include "objects/pod_resources.h"
#include "objects/resource_claims.h"

namespace porthole::kubelet {
namespace {

namespace core = api::core::v1;
namespace told = api::podresources::v1;

/// Monitors receive no more than 16 MiB, and a node has 110 pods.
constexpr std::size_t MostListedBytes = 128 << 10, StringOverhead = 16;

/// Of what is reported of one pod, as containers multiply by the devices of the claims that they share.
class ByteLimit {
public:
    /// False once the limit is reached.
    bool take(std::size_t bytes) {
        bytes += StringOverhead;
        left_ = bytes > left_ ? 0 : left_ - bytes;
        return left_ > 0;
    }

private:
    std::size_t left_ = MostListedBytes;
};

void tell_devices(const std::string& resource, const std::set<std::string>& ids, ByteLimit& limit, told::ContainerResources& shown) {
    if (!limit.take(resource.size())) return;
    told::ContainerDevices& devices = shown.devices.emplace_back();
    devices.resource_name = resource;
    for (const std::string& id : ids) {
        if (!limit.take(id.size())) return;
        devices.device_ids.push_back(id);
    }
}

void tell_claim(const PreparedClaim& claim, const std::string& request, ByteLimit& limit, told::ContainerResources& shown) {
    if (!limit.take(claim.name.size() + claim.namespace_.size())) return;
    told::DynamicResource& resource = shown.dynamic_resources.emplace_back();
    resource.claim_name = claim.name;
    resource.claim_namespace = claim.namespace_;
    for (const auto& [driver, devices] : claim.drivers)
        for (const PreparedDevice& device : devices) {
            if (!is_for(device, request)) continue;
            if (!limit.take(driver.size() + device.pool.size() + device.device.size())) return;
            told::ClaimResource& one = resource.claim_resources.emplace_back();
            one.driver_name = driver;
            one.pool_name = device.pool;
            one.device_name = device.device;
            for (const std::string& id : device.cdi_ids) {
                if (!limit.take(id.size())) return;
                one.cdi_devices.emplace_back().name = id;
            }
        }
}

/// The requests that stand for a container's extended resources, by its name.
std::unordered_map<std::string_view, std::vector<std::string_view>> extended_requests(const core::Pod& pod) {
    std::unordered_map<std::string_view, std::vector<std::string_view>> requests;
    if (const auto& extended = pod.status.extended_resource_claim_status)
        for (const auto& mapping : extended->request_mappings) requests[mapping.container_name].push_back(mapping.request_name);
    return requests;
}

}  // namespace

told::PodResources pod_resources(const core::Pod& pod, const DeviceAllocations& allocations, const PreparedClaims& claims) {
    told::PodResources resources;
    resources.name = pod.metadata.name;
    resources.namespace_ = pod.metadata.namespace_;
    const auto allocated = allocations.find(pod.metadata.uid);
    const auto names = objects::resource_claim_names(pod);
    const auto prepared = claims_of(claims, pod.metadata.namespace_);
    const auto extended = extended_requests(pod);
    const auto& extended_status = pod.status.extended_resource_claim_status;
    const auto extended_claim = extended_status ? prepared.find(extended_status->resource_claim_name) : prepared.end();
    ByteLimit limit;
    const auto add = [&](const core::Container& container) {
        told::ContainerResources& shown = resources.containers.emplace_back();
        shown.name = container.name;
        if (allocated != allocations.end())
            if (const auto own = allocated->second.find(container.name); own != allocated->second.end())
                for (const auto& [resource, devices] : own->second) tell_devices(resource, devices.ids, limit, shown);
        for (const auto& wanted : container.resources.claims) {
            const auto name = names.find(wanted.name);
            if (name == names.end() || !name->second) continue;
            if (const auto claim = prepared.find(*name->second); claim != prepared.end())
                tell_claim(*claim->second, wanted.request, limit, shown);
        }
        const auto requests = extended.find(container.name);
        if (extended_claim == prepared.end() || requests == extended.end()) return;
        for (const std::string_view request : requests->second) tell_claim(*extended_claim->second, std::string(request), limit, shown);
    };
    for (const core::Container& container : pod.spec.init_containers)
        if (objects::is_sidecar(container)) add(container);
    for (const core::Container& container : pod.spec.containers) add(container);
    return resources;
}

told::AllocatableResourcesResponse allocatable_resources(const std::map<std::string, std::set<std::string>>& devices) {
    told::AllocatableResourcesResponse response;
    for (const auto& [resource, ids] : devices) {
        told::ContainerDevices& one = response.devices.emplace_back();
        one.resource_name = resource;
        one.device_ids.assign(ids.begin(), ids.end());
    }
    return response;
}

}  // namespace porthole::kubelet
