#pragma once
#include "kubelet/container/inputs.h"

namespace porthole::kubelet {

/// A container's own security context, merged with the pod's.
core::SecurityContext effective_security_context(const core::Pod& pod, const core::Container& container);
Result<cri::LinuxContainerSecurityContext> linux_security_context(const ContainerInputs& inputs);
/// Enforces runAsNonRoot. Error: BadRequest with upstream's message, if the container would run as root.
Result<void> verify_non_root(const core::Pod& pod, const core::Container& container, const ImageUser& image_user);
/// Namespaces, users, groups, sysctls and seccomp of the sandbox; no cgroup and resources.
cri::LinuxPodSandboxConfig linux_sandbox_config(const core::Pod& pod);

}  // namespace porthole::kubelet
