#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "api/core_v1.h"
#include "kubelet/cri/cri.h"
#include "objects/pod_resources.h"

namespace porthole::kubelet {

namespace core = api::core::v1;

// Labels and annotations that the kubelet writes on sandboxes and containers, for other tools and later kubelets.
inline constexpr const char* PodNameLabel = "io.kubernetes.pod.name";
inline constexpr const char* PodNamespaceLabel = "io.kubernetes.pod.namespace";
inline constexpr const char* PodUidLabel = "io.kubernetes.pod.uid";
inline constexpr const char* ContainerNameLabel = "io.kubernetes.container.name";
inline constexpr const char* ContainerHashAnnotation = "io.kubernetes.container.hash";
inline constexpr const char* RestartCountAnnotation = "io.kubernetes.container.restartCount";
inline constexpr const char* TerminationMessagePathAnnotation = "io.kubernetes.container.terminationMessagePath";
inline constexpr const char* TerminationMessagePolicyAnnotation = "io.kubernetes.container.terminationMessagePolicy";
inline constexpr const char* PreStopHandlerAnnotation = "io.kubernetes.container.preStopHandler";
inline constexpr const char* PortsAnnotation = "io.kubernetes.container.ports";
inline constexpr const char* ResourcesAnnotation = "porthole.internal/container.resources";
inline constexpr const char* PodResourcesAnnotation = "porthole.internal/pod.resources";
inline constexpr const char* DeletionGracePeriodAnnotation = "io.kubernetes.pod.deletionGracePeriod";
inline constexpr const char* TerminationGracePeriodAnnotation = "io.kubernetes.pod.terminationGracePeriod";

// Annotations of pods that do not come from the API.
inline constexpr const char* ConfigSourceAnnotation = "kubernetes.io/config.source";
inline constexpr const char* ConfigSeenAnnotation = "kubernetes.io/config.seen";
inline constexpr const char* ConfigHashAnnotation = "kubernetes.io/config.hash";
inline constexpr const char* ConfigMirrorAnnotation = "kubernetes.io/config.mirror";

bool is_static_pod(const core::Pod& pod);  ///< from a manifest of the node
bool is_mirror_pod(const core::Pod& pod);  ///< the API's picture of a static pod
/// System-critical priority or a static or mirror pod: never evicted, admitted first.
bool is_critical_pod(const core::Pod& pod);
/// "namespace/name"
std::string pod_key(const core::Pod& pod);
/// "name_namespace(uid)", as messages have it.
std::string pod_full_text(const core::Pod& pod);
/// "<namespace>_<name>_<uid>": the pod's log directory.
std::string pod_log_directory_name(const core::Pod& pod);

enum class ContainerKind { Init, Regular, Ephemeral };

/// A container of a pod's spec; ephemeral ones are shown in the form of a Container.
struct ContainerSpec {
    ContainerKind kind = ContainerKind::Regular;
    core::Container container;
    std::string target_container;  ///< of an ephemeral one; may be empty
};
core::Container to_container(const core::EphemeralContainer& ephemeral);
/// Init, regular and ephemeral containers in the order of the spec.
std::vector<ContainerSpec> all_containers(const core::Pod& pod);
std::optional<ContainerSpec> find_container(const core::Pod& pod, const std::string& name);
/// "spec.containers{name}": where an event about a container points.
std::string container_field_path(const ContainerSpec& spec);

using objects::is_sidecar;
/// Changes when the container must be recreated: by name and image.
std::string container_hash(const core::Container& container);
/// An object reference for events; `container` adds the field path.
core::ObjectReference reference_to(const core::Pod& pod, const ContainerSpec* container = nullptr);

/// The runtime's state of one pod.
struct PodRuntimeState {
    std::vector<cri::PodSandboxStatus> sandboxes;  ///< newest first
    std::vector<cri::ContainerStatus> containers;  ///< newest first

    /// The newest container of that name, or nullptr.
    const cri::ContainerStatus* find_newest(const std::string& container_name) const;
    const cri::ContainerStatus* find_by_id(const std::string& id) const;
    const cri::PodSandboxStatus* newest_sandbox() const { return sandboxes.empty() ? nullptr : &sandboxes.front(); }
    const cri::PodSandboxStatus* ready_sandbox() const;
    bool has_running_container() const;
    bool empty() const { return sandboxes.empty() && containers.empty(); }
};

inline bool is_running(const cri::ContainerStatus& container) { return container.state == cri::ContainerState::ContainerRunning; }
inline bool is_exited(const cri::ContainerStatus& container) { return container.state == cri::ContainerState::ContainerExited; }
std::string name_of(const cri::ContainerStatus& container);
std::int32_t restart_count_of(const cri::ContainerStatus& container);
/// All addresses of the sandbox, the main one first.
std::vector<std::string> addresses_of(const cri::PodSandboxStatus& sandbox);

}  // namespace porthole::kubelet
