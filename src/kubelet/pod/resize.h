#pragma once
#include "kubelet/pod/pod.h"

namespace porthole::kubelet {

/// The cpu and memory that a container runs with.
struct GivenResources {
    core::ResourceRequirements container;         ///< its own
    schema::Box<core::ResourceRequirements> pod;  ///< of its pod as a whole, where the pod states any
    bool operator==(const GivenResources&) const = default;
};
/// What a container was made with, or what set_given_resources() has noted since; nullopt for one of a kubelet that did not note it, which
/// has what its pod says.
std::optional<GivenResources> given_resources(const cri::ContainerStatus& container);
void set_given_resources(cri::ContainerStatus& container, const GivenResources& resources);
/// The annotations that given_resources() reads.
std::map<std::string, std::string> resource_annotations(const GivenResources& resources);

/// How a running container comes to the cpu and memory that its pod asks for now (KEP-1287).
enum class ResizeStep { None, InPlace, Restart };
ResizeStep resize_step(const core::Container& wanted, const schema::Box<core::ResourceRequirements>& pod, const GivenResources& given);
/// Whether what pods state for themselves as a whole differs in cpu or memory (KEP-5419).
bool differ_at_pod_level(const schema::Box<core::ResourceRequirements>& one, const schema::Box<core::ResourceRequirements>& other);

/// `pod` with the container resources of `other`, which has the same containers: what it may use until there is room for more.
core::Pod with_resources_of(core::Pod pod, const core::Pod& other);
/// `pod` with the resources that its status tells of, without its overhead, which is reported with them: what a kubelet before this one
/// allowed it.
core::Pod with_reported_resources(core::Pod pod);
/// What the pod's status says that its running containers were given, by the runtime's id of the container. The runtime knows only what
/// they were made with.
std::map<std::string, GivenResources> reported_as_given(const core::Pod& pod);
/// `pod` with what its running containers were given so far: what it uses while a resize is in progress.
core::Pod with_given_resources(core::Pod pod, const PodRuntimeState& state);
/// Whether two forms of a pod differ in cpu or memory.
bool differ_in_resources(const core::Pod& one, const core::Pod& other);

/// The text of an event about a resize: `what`, and as JSON the resources that the pod's containers are to have.
std::string resize_message(const std::string& what, const core::Pod& pod, const std::string& error = "");

}  // namespace porthole::kubelet
