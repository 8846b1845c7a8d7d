#pragma once
#include "kubelet/container/inputs.h"

namespace porthole::kubelet {

// The equivalent of LinuxContainerConfig for Windows containers.

/// `/var/lib/x` and `\var\lib\x` → `c:\var\lib\x`. In a path with a drive, `\\server\share` or `\\.\pipe\x`, only the slashes change.
std::string windows_path(std::string path);

/// Job-object limits: cpu_maximum in ten-thousandths of all `processors`, from the limit alone; memory as a commit limit.
cri::WindowsContainerResources windows_resources(const ResourceList& limits, std::int64_t processors);

cri::WindowsContainerConfig windows_container_config(const ContainerInputs& in);
cri::WindowsPodSandboxConfig windows_sandbox_config(const core::Pod& pod);

/// Whether the container runs on the host itself, by its own or its pod's security context.
bool is_host_process(const core::Pod& pod, const core::Container& container);

/// The account that must be allowed to read volumes that only administrators may read: a SID, or for HostProcess containers the name of an
/// account of the host; "" for a container that runs as an administrator.
std::string windows_reader(const core::Pod& pod, const core::Container& container, const ImageUser& image_user);

/// runAsNonRoot checks the name alone: ContainerAdministrator (or its SID) is refused. Error: BadRequest.
Result<void> verify_not_administrator(const core::Pod& pod, const core::Container& container, const ImageUser& image_user);

}  // namespace porthole::kubelet
