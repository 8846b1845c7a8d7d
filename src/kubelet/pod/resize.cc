#include "kubelet/pod/resize.h"

#include <algorithm>
#include <unordered_map>

#include "kubelet/pod/resources.h"
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

ResourceRequirements in_force(ResourceRequirements own, const schema::Box<ResourceRequirements>& pod) {
    own.limits = limits_in_force(own, pod);
    return own;
}

std::optional<ResourceRequirements> noted(const cri::ContainerStatus& container, const char* annotation) {
    const auto found = container.annotations.find(annotation);
    if (found == container.annotations.end()) return std::nullopt;
    auto read = schema::decode_json<ResourceRequirements>(found->second);
    if (!read) return std::nullopt;
    return *std::move(read);
}

schema::Value summary(const std::vector<core::Container>& containers) {
    schema::Value list = schema::Value::array();
    for (const core::Container& container : containers)
        list.as_array().push_back(schema::Value::object(
            {{"name", container.name},
             {"resources", schema::parse_json(schema::encode_json(container.resources)).value_or(schema::Value::object())}}));
    return list;
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

std::optional<GivenResources> given_resources(const cri::ContainerStatus& container) {
    auto own = noted(container, ResourcesAnnotation);
    if (!own) return std::nullopt;
    GivenResources given{.container = *std::move(own)};
    if (auto pod = noted(container, PodResourcesAnnotation)) given.pod = *std::move(pod);
    return given;
}

void set_given_resources(cri::ContainerStatus& container, const GivenResources& resources) {
    for (const char* name : {ResourcesAnnotation, PodResourcesAnnotation}) container.annotations.erase(name);
    container.annotations.merge(resource_annotations(resources));
}

std::map<std::string, std::string> resource_annotations(const GivenResources& resources) {
    std::map<std::string, std::string> made{{ResourcesAnnotation, schema::encode_json(resources.container)}};
    if (resources.pod) made[PodResourcesAnnotation] = schema::encode_json(*resources.pod);
    return made;
}

ResizeStep resize_step(const core::Container& wanted, const schema::Box<ResourceRequirements>& pod, const GivenResources& given) {
    const ResourceRequirements then = in_force(given.container, given.pod), now = in_force(wanted.resources, pod);
    ResizeStep step = ResizeStep::None;
    for (const char* name : {"cpu", "memory"}) {
        const bool same = is_same(now, then, name);
        if (!same && wants_restart_for(wanted, name)) return ResizeStep::Restart;
        // What is the same by the pod's own limit is noted as the container's nevertheless.
        if (!same || !is_same(wanted.resources, given.container, name)) step = ResizeStep::InPlace;
    }
    return step;
}

bool differ_at_pod_level(const schema::Box<ResourceRequirements>& one, const schema::Box<ResourceRequirements>& other) {
    const ResourceRequirements left = one.value_or(ResourceRequirements()), right = other.value_or(ResourceRequirements());
    return !is_same(left, right, "cpu") || !is_same(left, right, "memory");
}

core::Pod with_resources_of(core::Pod pod, const core::Pod& other) {
    for_each_pair(pod, other, [](ResourceRequirements& mine, const ResourceRequirements& theirs) { mine = theirs; });
    pod.spec.resources = other.spec.resources;
    return pod;
}

core::Pod with_reported_resources(core::Pod pod) {
    for (const auto& [containers, statuses] : {std::pair(&pod.spec.init_containers, &pod.status.init_container_statuses),
                                               std::pair(&pod.spec.containers, &pod.status.container_statuses)}) {
        std::unordered_map<std::string_view, const core::ContainerStatus*> by_name;  // there may be thousands
        for (const core::ContainerStatus& status : *statuses) by_name.emplace(status.name, &status);
        for (core::Container& container : *containers) {
            const auto status = by_name.find(container.name);
            if (status != by_name.end() && status->second->resources) container.resources = *status->second->resources;
        }
    }
    if (!pod.spec.resources || !pod.status.resources) return pod;
    for (auto list : {&ResourceRequirements::requests, &ResourceRequirements::limits}) {
        const ResourceList& reported = (*pod.status.resources).*list;
        ResourceList& stated = (*pod.spec.resources).*list;
        for (const char* name : {"cpu", "memory"}) {
            if (!stated.contains(name)) continue;
            const auto found = reported.find(name);
            if (found == reported.end()) {
                stated.erase(name);
                continue;
            }
            stated[name] = found->second;
            if (!found->second.is_zero()) stated[name] -= objects::amount_of(pod.spec.overhead, name);
        }
    }
    return pod;
}

std::map<std::string, GivenResources> reported_as_given(const core::Pod& pod) {
    std::map<std::string, GivenResources> given;
    if (pod.spec.resources && !pod.status.resources) return given;
    const schema::Box<ResourceRequirements> whole = with_reported_resources(pod).spec.resources;
    for (const auto* statuses :
         {&pod.status.init_container_statuses, &pod.status.container_statuses, &pod.status.ephemeral_container_statuses}) {
        for (const core::ContainerStatus& status : *statuses) {
            const std::size_t id = status.container_id.find("://");
            if (status.state.running && status.resources && id != std::string::npos)
                given[status.container_id.substr(id + 3)] = {*status.resources, whole};
        }
    }
    return given;
}

core::Pod with_given_resources(core::Pod pod, const PodRuntimeState& state) {
    const schema::Box<ResourceRequirements> wanted = pod.spec.resources;
    for (auto list : {&core::PodSpec::init_containers, &core::PodSpec::containers}) {
        for (core::Container& container : pod.spec.*list) {
            const cri::ContainerStatus* status = state.find_newest(container.name);
            const auto given = status && is_running(*status) ? given_resources(*status) : std::nullopt;
            if (!given) continue;
            container.resources = given->container;
            if (differ_at_pod_level(given->pod, wanted)) pod.spec.resources = given->pod;
        }
    }
    return pod;
}

bool differ_in_resources(const core::Pod& one, const core::Pod& other) {
    bool differ = differ_at_pod_level(one.spec.resources, other.spec.resources);
    for_each_pair(one, other, [&](const ResourceRequirements& left, const ResourceRequirements& right) {
        for (const char* name : {"cpu", "memory"}) differ = differ || !is_same(left, right, name);
    });
    return differ;
}

std::string resize_message(const std::string& what, const core::Pod& pod, const std::string& error) {
    schema::Value message = schema::Value::object();
    if (!pod.spec.init_containers.empty()) message["initContainers"] = summary(pod.spec.init_containers);
    if (!pod.spec.containers.empty()) message["containers"] = summary(pod.spec.containers);
    message["generation"] = pod.metadata.generation;
    if (!error.empty()) message["error"] = error;
    return what + ": " + schema::to_json(message);
}

}  // namespace porthole::kubelet
