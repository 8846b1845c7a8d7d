#include "kubelet/pod/resize.h"

#include <algorithm>

#include "objects/pod_resources.h"
#include "schema/json/json.h"

namespace porthole::kubelet {
namespace {

using core::ResourceRequirements;

bool is_same(const ResourceRequirements& one, const ResourceRequirements& other, const char* name) {
    return objects::amount_of(one.requests, name) == objects::amount_of(other.requests, name) &&
           objects::amount_of(one.limits, name) == objects::amount_of(other.limits, name);
}

bool wants_restart_for(const core::Container& container, const char* name) {
    return std::ranges::any_of(container.resize_policy, [&](const core::ContainerResizePolicy& policy) {
        return policy.resource_name == name && policy.restart_policy == "RestartContainer";
    });
}

/// Calls `visit` with the resources of both that belong together.
void for_each_pair(auto& one, auto& other, auto visit) {
    for (auto list : {&core::PodSpec::init_containers, &core::PodSpec::containers}) {
        auto& left = one.spec.*list;
        auto& right = other.spec.*list;
        for (std::size_t i = 0; i < left.size() && i < right.size(); ++i) visit(left[i].resources, right[i].resources);
    }
}

}  // namespace

std::optional<ResourceRequirements> given_resources(const cri::ContainerStatus& container) {
    const auto found = container.annotations.find(ResourcesAnnotation);
    if (found == container.annotations.end()) return std::nullopt;
    auto given = schema::decode_json<ResourceRequirements>(found->second);
    if (!given) return std::nullopt;
    return *std::move(given);
}

void set_given_resources(cri::ContainerStatus& container, const ResourceRequirements& resources) {
    container.annotations[ResourcesAnnotation] = schema::encode_json(resources);
}

ResizeStep resize_step(const core::Container& wanted, const ResourceRequirements& given) {
    ResizeStep step = ResizeStep::None;
    for (const char* name : {"cpu", "memory"}) {
        if (is_same(wanted.resources, given, name)) continue;
        if (wants_restart_for(wanted, name)) return ResizeStep::Restart;
        step = ResizeStep::InPlace;
    }
    return step;
}

core::Pod with_resources_of(core::Pod pod, const core::Pod& other) {
    for_each_pair(pod, other, [](ResourceRequirements& mine, const ResourceRequirements& theirs) { mine = theirs; });
    pod.spec.resources = other.spec.resources;
    return pod;
}

bool differ_in_resources(const core::Pod& one, const core::Pod& other) {
    bool differ = one.spec.resources != other.spec.resources;
    for_each_pair(one, other, [&](const ResourceRequirements& left, const ResourceRequirements& right) {
        for (const char* name : {"cpu", "memory"}) differ = differ || !is_same(left, right, name);
    });
    return differ;
}

}  // namespace porthole::kubelet
