#include "kubelet/pod/pod.h"

#include <charconv>

#include "base/hash.h"
#include "schema/json/json.h"

namespace porthole::kubelet {
namespace {

constexpr std::int32_t SystemCriticalPriority = 2'000'000'000;

std::string_view annotation(const core::Pod& pod, const char* name) {
    const auto found = pod.metadata.annotations.find(name);
    return found == pod.metadata.annotations.end() ? std::string_view() : std::string_view(found->second);
}

}  // namespace

bool is_static_pod(const core::Pod& pod) {
    const std::string_view source = annotation(pod, ConfigSourceAnnotation);
    return !source.empty() && source != "api";
}

bool is_mirror_pod(const core::Pod& pod) { return pod.metadata.annotations.contains(ConfigMirrorAnnotation); }

bool is_critical_pod(const core::Pod& pod) {
    return is_static_pod(pod) || is_mirror_pod(pod) || pod.spec.priority.value_or(0) >= SystemCriticalPriority;
}

std::string pod_key(const core::Pod& pod) { return pod.metadata.namespace_ + "/" + pod.metadata.name; }

std::string pod_full_text(const core::Pod& pod) { return pod.metadata.name + "_" + pod.metadata.namespace_ + "(" + pod.metadata.uid + ")"; }

std::string pod_log_directory_name(const core::Pod& pod) {
    return pod.metadata.namespace_ + "_" + pod.metadata.name + "_" + pod.metadata.uid;
}

core::Container to_container(const core::EphemeralContainer& ephemeral) {
    // Both types have the same fields by name; only the table of fields differs.
    const core::EphemeralContainerCommon& common = ephemeral;
    return schema::decode_json<core::Container>(schema::encode_json(common)).value_or(core::Container());
}

std::vector<ContainerSpec> all_containers(const core::Pod& pod) {
    std::vector<ContainerSpec> all;
    for (const core::Container& container : pod.spec.init_containers) all.push_back({ContainerKind::Init, container, ""});
    for (const core::Container& container : pod.spec.containers) all.push_back({ContainerKind::Regular, container, ""});
    for (const core::EphemeralContainer& ephemeral : pod.spec.ephemeral_containers)
        all.push_back({ContainerKind::Ephemeral, to_container(ephemeral), ephemeral.target_container_name});
    return all;
}

std::optional<ContainerSpec> find_container(const core::Pod& pod, const std::string& name) {
    // Nothing but the one that is found is copied: there may be thousands.
    for (const core::Container& container : pod.spec.init_containers)
        if (container.name == name) return ContainerSpec{ContainerKind::Init, container, ""};
    for (const core::Container& container : pod.spec.containers)
        if (container.name == name) return ContainerSpec{ContainerKind::Regular, container, ""};
    for (const core::EphemeralContainer& ephemeral : pod.spec.ephemeral_containers)
        if (ephemeral.name == name)
            return ContainerSpec{ContainerKind::Ephemeral, to_container(ephemeral), ephemeral.target_container_name};
    return std::nullopt;
}

std::string container_field_path(const ContainerSpec& spec) {
    const char* list = spec.kind == ContainerKind::Init      ? "initContainers"
                       : spec.kind == ContainerKind::Regular ? "containers"
                                                             : "ephemeralContainers";
    return std::string("spec.") + list + "{" + spec.container.name + "}";
}

std::string container_hash(const core::Container& container) {
    char text[9];
    std::snprintf(text, sizeof text, "%x", fnv1a_32(container.name + '\0' + container.image));
    return text;
}

core::ObjectReference reference_to(const core::Pod& pod, const ContainerSpec* container) {
    core::ObjectReference reference;
    reference.kind = "Pod";
    reference.api_version = "v1";
    reference.namespace_ = pod.metadata.namespace_;
    reference.name = pod.metadata.name;
    reference.uid = pod.metadata.uid;
    reference.resource_version = pod.metadata.resource_version;
    if (container) reference.field_path = container_field_path(*container);
    return reference;
}

const cri::ContainerStatus* PodRuntimeState::find_newest(const std::string& container_name) const {
    for (const cri::ContainerStatus& container : containers)
        if (name_of(container) == container_name) return &container;
    return nullptr;
}

const cri::ContainerStatus* PodRuntimeState::find_by_id(const std::string& id) const {
    for (const cri::ContainerStatus& container : containers)
        if (container.id == id) return &container;
    return nullptr;
}

const cri::PodSandboxStatus* PodRuntimeState::ready_sandbox() const {
    for (const cri::PodSandboxStatus& sandbox : sandboxes)
        if (sandbox.state == cri::PodSandboxState::SandboxReady) return &sandbox;
    return nullptr;
}

bool PodRuntimeState::has_running_container() const {
    for (const cri::ContainerStatus& container : containers)
        if (is_running(container)) return true;
    return false;
}

std::string name_of(const cri::ContainerStatus& container) { return container.metadata ? container.metadata->name : ""; }

std::int32_t restart_count_of(const cri::ContainerStatus& container) {
    std::int32_t count = container.metadata ? static_cast<std::int32_t>(container.metadata->attempt) : 0;
    if (const auto found = container.annotations.find(RestartCountAnnotation); found != container.annotations.end())
        std::from_chars(found->second.data(), found->second.data() + found->second.size(), count);
    return count;
}

std::vector<std::string> addresses_of(const cri::PodSandboxStatus& sandbox) {
    std::vector<std::string> addresses;
    if (!sandbox.network || sandbox.network->ip.empty()) return addresses;
    addresses.push_back(sandbox.network->ip);
    for (const cri::PodIP& other : sandbox.network->additional_ips) addresses.push_back(other.ip);
    return addresses;
}

}  // namespace porthole::kubelet
