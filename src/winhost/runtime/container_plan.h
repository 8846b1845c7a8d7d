#pragma once
#include <optional>
#include <string_view>

#include "api/cri_v1.h"
#include "winhost/bundle/oci_bundle.h"
#include "winhost/images/content/image.h"
#include "winhost/runtime/program_spec.h"

namespace porthole::winhost {

namespace cri = api::cri::v1;

/// What a container runs: the pod's command and arguments take the place of the image's as in Kubernetes; the pod's are quoted as
/// Windows quotes them, the image's finished command lines (shell form) stay as they are. Error: BadRequest if there is nothing to run.
Result<ProgramSpec> plan_program(const cri::ContainerConfig& config, const ImageConfig& image, const std::string& hostname);

/// Whether it is a HostProcess container: a program of the host rather than of a pod.
bool is_host_process(const cri::ContainerConfig& config);

/// The user a container runs as: among those that every Windows container has, or, for a HostProcess container, the host's own accounts of
/// services. Error: Invalid for others, with Windows' words.
enum class ContainerUser { Administrator, User };
Result<ContainerUser> plan_user(const cri::ContainerConfig& config, const ImageConfig& image);

/// A program's limits. Over `memory_per_process` allocations fail, as they do on Windows; the cgroup's limit, which kills, lies above
/// what the pod was given by the emulation's own needs.
struct ContainerLimits {
    std::uint64_t memory_per_process = 0;  ///< 0: none
    OciLimits cgroup;
};
/// Processes and threads of one container: a storm of them ends there.
inline constexpr std::int64_t ContainerProcessLimit = 512;
/// `commit_left` is what the host can still promise: no program gets more, whatever its container's limit. Nothing where it is not known.
ContainerLimits plan_limits(const cri::WindowsContainerResources* resources, int processors,
                            std::optional<std::uint64_t> commit_left = std::nullopt);

/// Windows' commit limit, physical memory and page files, of a host that is the machine of this /proc/meminfo. Nothing for other texts.
std::optional<std::uint64_t> commit_limit(std::string_view meminfo);

/// CTRL_*_EVENT for the stop signal of an image or pod; "kill" for SIGKILL. Error: BadRequest for what Windows has no event for.
Result<std::string> plan_stop_event(cri::Signal signal, const std::string& image_signal);

}  // namespace porthole::winhost
