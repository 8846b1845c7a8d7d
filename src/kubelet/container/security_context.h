#pragma once
#include "kubelet/container/container_config.h"

namespace porthole::kubelet {

/// What holds for a container: its own security context over the pod's.
core::SecurityContext effective_security_context(const core::Pod& pod, const core::Container& container);
Result<cri::LinuxContainerSecurityContext> linux_security_context(const ContainerInputs& inputs);
/// Namespaces, users, groups, sysctls and seccomp of the sandbox; no cgroup and resources.
cri::LinuxPodSandboxConfig linux_sandbox_config(const core::Pod& pod);

}  // namespace porthole::kubelet
