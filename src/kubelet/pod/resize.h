#pragma once
#include "kubelet/pod/pod.h"

namespace porthole::kubelet {

/// The cpu and memory that a container runs with.
struct GivenResources {
    core::ResourceRequirements container;         ///< its own
    schema::Box<core::ResourceRequirements> pod;  ///< of its pod as a whole, if the pod specifies any
    bool operator==(const GivenResources&) const = default;
};
/// The resources with which a container was created, or those recorded since by set_given_resources(); nullopt for a container of a kubelet
/// that did not record them, which has those of its pod.
std::optional<GivenResources> given_resources(const cri::ContainerStatus& container);
void set_given_resources(cri::ContainerStatus& container, const GivenResources& resources);
/// The annotations that given_resources() reads.
std::map<std::string, std::string> resource_annotations(const GivenResources& resources);

/// How a running container gets the cpu and memory that its pod now requests (KEP-1287).
enum class ResizeStep { None, InPlace, Restart };
ResizeStep resize_step(const core::Container& wanted, const schema::Box<core::ResourceRequirements>& pod, const GivenResources& given);
/// Whether pod-level resources differ in cpu or memory (KEP-5419).
bool differ_at_pod_level(const schema::Box<core::ResourceRequirements>& one, const schema::Box<core::ResourceRequirements>& other);

/// `pod` with the container resources of `other`, which has the same containers: what it may use until there is room for more.
core::Pod with_resources_of(core::Pod pod, const core::Pod& other);
/// `pod` with the resources reported in its status, minus its overhead, which the status includes: what a previous kubelet allowed it.
core::Pod with_reported_resources(core::Pod pod);
/// The resources of running containers according to the pod's status, by container id. The runtime only knows those with which they were
/// created.
std::map<std::string, GivenResources> reported_as_given(const core::Pod& pod);
/// `pod` with the current resources of its running containers: what it uses while a resize is in progress.
core::Pod with_given_resources(core::Pod pod, const PodRuntimeState& state);
/// Whether two forms of a pod differ in cpu or memory.
bool differ_in_resources(const core::Pod& one, const core::Pod& other);

/// The text of a resize event: `what`, and as JSON the wanted resources of the pod's containers.
std::string resize_message(const std::string& what, const core::Pod& pod, const std::string& error = "");

}  // namespace porthole::kubelet
