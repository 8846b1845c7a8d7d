#pragma once
#include "kubelet/container/inputs.h"

namespace porthole::kubelet {

/// What holds for a container: its own security context over the pod's.
core::SecurityContext effective_security_context(const core::Pod& pod, const core::Container& container);
Result<cri::LinuxContainerSecurityContext> linux_security_context(const ContainerInputs& inputs);
/// Enforces runAsNonRoot. Error: BadRequest, in upstream's words, when the container would run as root.
Result<void> verify_non_root(const core::Pod& pod, const core::Container& container, const ImageUser& image_user);
/// Namespaces, users, groups, sysctls and seccomp of the sandbox; no cgroup and resources.
cri::LinuxPodSandboxConfig linux_sandbox_config(const core::Pod& pod);

}  // namespace porthole::kubelet
