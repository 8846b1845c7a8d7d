#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace porthole::windows {

/// The container runtime of Windows nodes.
struct Runtime {
    std::string name;                    ///< "containerd", "docker"; "" if unknown
    std::uint32_t major = 0, minor = 0;  ///< 0.0 if unknown
};

/// The label of emulated Windows nodes that has wine_version_of() their runtime: "10.0".
inline constexpr std::string_view WineLabel = "porthole.dev/wine-version";

/// Of what a node reports, such as "containerd://1.6.20"; a name alone has no version.
Runtime runtime_of(std::string_view reported);

/// The version of Wine, "10.0", if an emulated host reports it: "porthole-wine://0.1.0+wine-10.0"; "" for other runtimes.
std::string wine_version_of(std::string_view reported);

/// Whether it runs containers as processes of the host: containerd does since 1.6, and what is unknown is assumed to.
bool runs_host_processes(const Runtime& runtime);

/// Whether single files can be mounted, for example the one that a container's last message is read from. Docker mounts directories only.
bool mounts_files(const Runtime& runtime);

/// Whether a container has the pod's grace period to end. Docker takes the time from the registry of the image.
bool keeps_grace_periods(const Runtime& runtime);

}  // namespace porthole::windows
