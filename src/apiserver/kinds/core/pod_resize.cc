#include <algorithm>

#include "api/core_v1.h"
#include "apiserver/kinds/checks.h"
#include "apiserver/kinds/core/pod_spec.h"
#include "apiserver/strategy/strategy.h"
#include "objects/pod_resources.h"

/// pods/resize: what a running pod and its containers may use (KEP-1287).
namespace porthole::apiserver {
namespace {

using namespace api::core::v1;
using ResourceAmounts = std::map<std::string, Quantity>;

constexpr const char* OnlyCpuAndMemory = "only cpu and memory resources are mutable";

bool has_same_names(const std::vector<Container>& now, const std::vector<Container>& before) {
    return std::ranges::equal(now, before, {}, &Container::name, &Container::name);
}

/// What is stored, with the resources of `sent`. Containers that were added, removed or renamed stay as sent: validation refuses them.
std::vector<Container> resized(const std::vector<Container>& sent, const std::vector<Container>& stored) {
    if (!has_same_names(sent, stored)) return sent;
    std::vector<Container> containers = stored;
    for (std::size_t i = 0; i < sent.size(); ++i) {
        containers[i].resources = sent[i].resources;
        containers[i].resize_policy = sent[i].resize_policy;
    }
    return containers;
}

void prepare_resize(ApiObject& object, const ApiObject& old, const WriteContext&) {
    const Pod sent = object.view<Pod>();
    Pod pod = old.view<Pod>();
    pod.metadata.resource_version = sent.metadata.resource_version;
    pod.metadata.uid = sent.metadata.uid;
    pod.metadata.managed_fields = sent.metadata.managed_fields;
    pod.spec.resources = sent.spec.resources;
    pod.spec.containers = resized(sent.spec.containers, pod.spec.containers);
    pod.spec.init_containers = resized(sent.spec.init_containers, pod.spec.init_containers);
    object.edit<Pod>() = std::move(pod);
}

void validate_names(const std::vector<Container>& now, const std::vector<Container>& before, const char* list, FieldErrors& errors) {
    const FieldPath path = FieldPath("spec") / list;
    if (now.size() != before.size()) return errors.forbidden(path, std::string(list) + " may not be added or removed on resize");
    for (std::size_t i = 0; i < now.size(); ++i) {
        if (now[i].name != before[i].name)
            errors.forbidden(path.index(i) / "name", std::string(list) + " may not be renamed or reordered on resize");
    }
}

bool lacks_any_of(const ResourceAmounts& now, const ResourceAmounts& before) {
    return std::ranges::any_of(before, [&](const auto& entry) { return !now.contains(entry.first); });
}

void validate_nothing_removed(const ResourceRequirements& now, const ResourceRequirements& before, const FieldPath& path,
                              FieldErrors& errors) {
    if (lacks_any_of(now.requests, before.requests)) errors.forbidden(path / "requests", "resource requests cannot be removed");
    if (lacks_any_of(now.limits, before.limits)) errors.forbidden(path / "limits", "resource limits cannot be removed");
}

ResourceRequirements without_cpu_and_memory(ResourceRequirements resources) {
    for (ResourceAmounts* list : {&resources.requests, &resources.limits})
        for (const char* name : {"cpu", "memory"}) list->erase(name);
    return resources;
}

/// What the pod states for itself as a whole (KEP-5419).
void validate_pod_level_resize(const schema::Box<ResourceRequirements>& now, const schema::Box<ResourceRequirements>& before,
                               FieldErrors& errors) {
    const FieldPath spec = "spec", path = spec / "resources";
    if (before && !now) return errors.forbidden(path, "pod-level resources cannot be removed");
    if (before && lacks_any_of(now->requests, before->requests))
        errors.forbidden(path / "requests", "pod-level resource requests cannot be removed");
    if (before && lacks_any_of(now->limits, before->limits))
        errors.forbidden(path / "limits", "pod-level resource limits cannot be removed");
    if (without_cpu_and_memory(now.value_or(ResourceRequirements())) != without_cpu_and_memory(before.value_or(ResourceRequirements())))
        errors.forbidden(spec, "only cpu and memory resources are mutable at pod-level");
}

/// Equal but for cpu and memory.
bool is_alike(Container now, Container before) {
    now.resources = without_cpu_and_memory(std::move(now.resources));
    before.resources = without_cpu_and_memory(std::move(before.resources));
    return now == before;
}

bool asks_for_restart(const Container& container) {
    return std::ranges::any_of(container.resize_policy,
                               [](const ContainerResizePolicy& policy) { return policy.restart_policy == "RestartContainer"; });
}

void validate_init_container(const Container& now, const Container& before, const FieldPath& path, FieldErrors& errors) {
    if (!is_alike(now, before)) errors.forbidden(path, "only cpu and memory resources for init or sidecar containers are mutable");
    const bool sidecar = now.restart_policy == "Always";
    if (!sidecar && now != before && asks_for_restart(now))
        errors.forbidden(path, "non-sidecar init containers with a resize policy of RestartContainer cannot be resized");
}

/// A kubelet that can resize says what running containers have.
bool runs_where_resize_works(const Pod& pod) {
    const auto running =
        std::ranges::find_if(pod.status.container_statuses, [](const ContainerStatus& status) { return status.state.running.has_value(); });
    return running == pod.status.container_statuses.end() || running->resources;
}

void validate_containers_resize(const Pod& now, const Pod& before, FieldErrors& errors) {
    const FieldPath spec = "spec";
    for (std::size_t i = 0; i < now.spec.init_containers.size(); ++i) {
        const FieldPath path = (spec / "initContainers").index(i);
        const Container &container = now.spec.init_containers[i], &was = before.spec.init_containers[i];
        validate_nothing_removed(container.resources, was.resources, path / "resources", errors);
        validate_init_container(container, was, path, errors);
    }
    for (std::size_t i = 0; i < now.spec.containers.size(); ++i) {
        const Container &container = now.spec.containers[i], &was = before.spec.containers[i];
        validate_nothing_removed(container.resources, was.resources, (spec / "containers").index(i) / "resources", errors);
        if (!is_alike(container, was)) errors.forbidden(spec, OnlyCpuAndMemory);
    }
}

void validate_resize(const ApiObject& object, const ApiObject& old, FieldErrors& errors) {
    const Pod &now = object.view<Pod>(), &before = old.view<Pod>();
    const FieldPath spec = "spec";
    if (before.metadata.annotations.contains("kubernetes.io/config.mirror")) return errors.forbidden("", "static pods cannot be resized");
    if (before.spec.os && before.spec.os->name == "windows") return errors.forbidden("", "windows pods cannot be resized");
    validate_names(now.spec.containers, before.spec.containers, "containers", errors);
    validate_names(now.spec.init_containers, before.spec.init_containers, "initContainers", errors);
    if (!errors.empty()) return;
    validate_pod_spec(now.spec, spec, PodSpecIn::Pod, errors);
    const std::string qos = before.status.qos_class.empty() ? std::string(objects::qos_class(before.spec)) : before.status.qos_class;
    if (objects::qos_class(now.spec) != qos) errors.invalid(spec, qos, "Pod QOS Class may not change as a result of resizing");
    if (!runs_where_resize_works(before)) errors.forbidden(spec, "Pod running on node without support for resize");
    validate_pod_level_resize(now.spec.resources, before.spec.resources, errors);
    validate_containers_resize(now, before, errors);
}

}  // namespace

SubresourceStrategy pod_resize() { return {.prepare = prepare_resize, .validate = validate_resize}; }

}  // namespace porthole::apiserver
