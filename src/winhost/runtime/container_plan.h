#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "api/cri_v1.h"
#include "winhost/bundle/oci_bundle.h"
#include "winhost/images/content/image.h"
#include "winhost/runtime/program_spec.h"

namespace porthole::winhost {

namespace cri = api::cri::v1;

/// The program of a container: the pod's command and arguments replace the image's as in Kubernetes; the pod's are quoted by Windows'
/// rules, the image's complete command lines (shell form) are not changed. Error: BadRequest if there is no program.
Result<ProgramSpec> plan_program(const cri::ContainerConfig& config, const ImageConfig& image, const std::string& hostname);

/// Whether it is a HostProcess container: a program of the host rather than of a pod.
bool is_host_process(const cri::ContainerConfig& config);

/// The user of a container: one of those that every Windows container has, or, for a HostProcess container, a service account of the host.
/// Error: Invalid for others, with Windows' message.
enum class ContainerUser { Administrator, User };
Result<ContainerUser> plan_user(const cri::ContainerConfig& config, const ImageConfig& image);

/// A program's limits. Above `memory_per_process` allocations fail, as on Windows. The cgroup's limit, at which processes are killed, is
/// higher than the pod's by the needs of the emulation.
struct ContainerLimits {
    std::uint64_t memory_per_process = 0;  ///< 0: none
    OciLimits cgroup;
};
/// Maximum number of processes and threads of one container.
inline constexpr std::int64_t ContainerProcessLimit = 512;
/// `commit_left` is the host's remaining commit: no program gets more, whatever its container's limit. Nullopt if unknown.
ContainerLimits plan_limits(const cri::WindowsContainerResources* resources, int processors,
                            std::optional<std::uint64_t> commit_left = std::nullopt);

/// The same as programs see it in their job: the file that JobLimits (tools/job_limits_windows.h) reads.
std::string plan_job_limits(const cri::WindowsContainerResources* resources, int processors);

/// Windows' commit limit, which is physical memory and page files, of a host on the machine with this /proc/meminfo. Nullopt for other
/// texts.
std::optional<std::uint64_t> commit_limit(std::string_view meminfo);

/// CTRL_*_EVENT for the stop signal of an image or pod; "kill" for SIGKILL. Error: BadRequest if Windows has no event for it.
Result<std::string> plan_stop_event(cri::Signal signal, const std::string& image_signal);

}  // namespace porthole::winhost
