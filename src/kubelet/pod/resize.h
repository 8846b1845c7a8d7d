#pragma once
#include "kubelet/pod/pod.h"

namespace porthole::kubelet {

/// What a container was made with, or what set_given_resources() has noted since; nullopt for one of a kubelet that did not note it, which
/// has what its pod says.
std::optional<core::ResourceRequirements> given_resources(const cri::ContainerStatus& container);
void set_given_resources(cri::ContainerStatus& container, const core::ResourceRequirements& resources);

/// How a running container comes to the cpu and memory that its pod asks for now (KEP-1287).
enum class ResizeStep { None, InPlace, Restart };
ResizeStep resize_step(const core::Container& wanted, const core::ResourceRequirements& given);

/// `pod` with the container resources of `other`, which has the same containers: what it may use until there is room for more.
core::Pod with_resources_of(core::Pod pod, const core::Pod& other);
/// Whether two forms of a pod differ in cpu or memory.
bool differ_in_resources(const core::Pod& one, const core::Pod& other);

}  // namespace porthole::kubelet
