#include "windows/runtime.h"

#include <charconv>
#include <utility>

namespace porthole::windows {
namespace {

constexpr std::pair<std::uint32_t, std::uint32_t> FirstContainerdWithHostProcesses{1, 6};

bool is_docker(const Runtime& runtime) { return runtime.name == "docker"; }

}  // namespace

Runtime runtime_of(std::string_view reported) {
    constexpr std::string_view Separator = "://";
    const std::size_t at = reported.find(Separator);
    Runtime made{.name = std::string(reported.substr(0, at))};
    if (at == reported.npos) return made;
    const std::string_view version = reported.substr(at + Separator.size());
    const char* const end = version.data() + version.size();
    std::uint32_t major = 0, minor = 0;
    const auto [dot, wrong] = std::from_chars(version.data(), end, major);
    if (wrong != std::errc() || dot == end || *dot != '.' || std::from_chars(dot + 1, end, minor).ec != std::errc()) return made;
    made.major = major;
    made.minor = minor;
    return made;
}

std::string wine_version_of(std::string_view reported) {
    constexpr std::string_view Runtime = "porthole-wine://", Separator = "+wine-";
    const std::size_t at = reported.find(Separator);
    return reported.starts_with(Runtime) && at != reported.npos ? std::string(reported.substr(at + Separator.size())) : "";
}

bool runs_host_processes(const Runtime& runtime) {
    const std::pair version(runtime.major, runtime.minor);
    if (runtime.name == "containerd") return version == std::pair(0u, 0u) || version >= FirstContainerdWithHostProcesses;
    return !is_docker(runtime);
}

bool mounts_files(const Runtime& runtime) { return !is_docker(runtime); }

bool keeps_grace_periods(const Runtime& runtime) { return !is_docker(runtime); }

}  // namespace porthole::windows
