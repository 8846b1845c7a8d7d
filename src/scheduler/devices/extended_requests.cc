#include "scheduler/devices/extended_requests.h"

#include <algorithm>
#include <optional>
#include <set>

#include "objects/pod_resources.h"

namespace porthole::scheduler {
namespace {

using namespace api::core::v1;
using api::resource::v1::DeviceRequest;

/// Of a claim; one with more is refused when it is created, so that there is no need to go on, and a pod has room for thousands of
/// containers.
constexpr std::size_t MostRequests = 32;
/// Of a pod; with more its status is larger than an object can be, and is refused as well.
constexpr std::size_t MostMappings = 20'000;

void add(ContainerExtendedResourceRequest mapping, std::vector<ContainerExtendedResourceRequest>& to) {
    if (to.size() <= MostMappings) to.push_back(std::move(mapping));
}

/// What the containers of a pod need of one resource.
class ResourceRequests {
public:
    ResourceRequests(const std::string& resource, const std::string& device_class) : resource_(resource), class_(device_class) {}

    /// In the order of the pod; `position` counts init containers first.
    void add_lasting(const Container& container, std::size_t position) {
        const std::int64_t amount = amount_for(container);
        if (amount <= 0 || lasting_.size() > MostRequests) return;
        lasting_.emplace_back(position, request(container, position, amount));
        map(mappings_, container, lasting_.back().second.name);
    }

    /// After all lasting ones: uses the devices of those that start later.
    void add_passing(const Container& container, std::size_t position) {
        std::int64_t missing = amount_for(container);
        for (const auto& [other, lasting] : lasting_) {
            if (missing <= 0) return;
            if (other < position) continue;
            map(passing_mappings_, container, lasting.name);
            missing -= lasting.exactly->count;
        }
        if (missing <= 0) return;
        DeviceRequest own = request(container, position, missing);
        map(passing_mappings_, container, own.name);
        passing_names_.insert(own.name);
        if (!largest_ || largest_->exactly->count < own.exactly->count) largest_ = std::move(own);
    }

    void write_to(ExtendedRequests& result) && {
        for (auto& [position, lasting] : lasting_) result.requests.push_back(std::move(lasting));
        for (ContainerExtendedResourceRequest& mapping : mappings_) add(std::move(mapping), result.mappings);
        for (ContainerExtendedResourceRequest& mapping : passing_mappings_) {
            if (passing_names_.contains(mapping.request_name)) mapping.request_name = largest_->name;
            add(std::move(mapping), result.mappings);
        }
        if (largest_) result.requests.push_back(*std::move(largest_));
    }

private:
    std::int64_t amount_for(const Container& container) const {
        return objects::amount_of(container.resources.requests, resource_).value();
    }
    DeviceRequest request(const Container& container, std::size_t position, std::int64_t count) const {
        const auto& all = container.resources.requests;
        const auto number = std::distance(all.begin(), all.find(resource_));
        DeviceRequest made;
        made.name = "container-" + std::to_string(position) + "-request-" + std::to_string(number);
        made.exactly.emplace();
        made.exactly->device_class_name = class_;
        made.exactly->allocation_mode = "ExactCount";
        made.exactly->count = count;
        return made;
    }
    void map(std::vector<ContainerExtendedResourceRequest>& into, const Container& container, const std::string& name) const {
        add({.container_name = container.name, .resource_name = resource_, .request_name = name}, into);
    }

    const std::string &resource_, &class_;
    std::vector<std::pair<std::size_t, DeviceRequest>> lasting_;  // by position
    std::optional<DeviceRequest> largest_;                        // of the init containers that end; the others use it too
    std::set<std::string> passing_names_;
    std::vector<ContainerExtendedResourceRequest> mappings_, passing_mappings_;
};

}  // namespace

ExtendedRequests extended_requests(const Pod& pod, const std::map<std::string, std::string>& classes) {
    const auto& init = pod.spec.init_containers;
    ExtendedRequests result;
    for (const auto& [resource, device_class] : classes) {
        ResourceRequests needed(resource, device_class);
        for (std::size_t i = 0; i < init.size(); ++i)
            if (objects::is_sidecar(init[i])) needed.add_lasting(init[i], i);
        for (std::size_t i = 0; i < pod.spec.containers.size(); ++i) needed.add_lasting(pod.spec.containers[i], init.size() + i);
        for (std::size_t i = 0; i < init.size(); ++i)
            if (!objects::is_sidecar(init[i])) needed.add_passing(init[i], i);
        std::move(needed).write_to(result);
    }
    std::ranges::sort(result.requests, {}, &DeviceRequest::name);
    return result;
}

}  // namespace porthole::scheduler
