#include "windows/builds.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/strings.h"

namespace porthole::windows {
namespace {

/// A release of Windows whose build a node may have.
struct Build {
    std::uint32_t number;
    const char* name;
};

/// Oldest first. Upstream's list (Server 2019, 2004, 20H2) and the Server releases since.
constexpr Build Builds[] = {{17763, "Windows Server 2019"},
                            {19041, "Windows Server, version 2004"},
                            {19042, "Windows Server, version 20H2"},
                            {20348, "Windows Server 2022"},
                            {26100, "Windows Server 2025"}};

/// The third number.
std::optional<std::uint32_t> build_of(std::string_view version) {
    for (int dots = 0; dots < 2; ++dots) version.remove_prefix(std::min(version.find('.'), version.size() - 1) + 1);
    std::uint32_t number = 0;
    const auto [end, code] = std::from_chars(version.data(), version.data() + version.size(), number);
    if (code != std::errc() || end == version.data()) return std::nullopt;
    return number;
}

}  // namespace

std::string unknown_build(std::string_view version) {
    if (version.empty()) return "";
    const auto number = build_of(version);
    if (number && std::ranges::any_of(Builds, [&](const Build& build) { return build.number == *number; })) return "";
    const std::string known =
        join(Builds, ", ", [](const Build& build) { return std::to_string(build.number) + " (" + std::string(build.name) + ")"; });
    return "Windows build " + std::string(version) + " is not one that nodes are known to run on: " + known;
}

std::string object_volumes_refusal(std::string_view version) {
    const auto number = version.empty() ? std::nullopt : build_of(version);
    if (!number || *number >= FirstBuildWithObjectVolumes) return "";
    return "configMap, secret, downwardAPI and projected volumes do not work on Windows build " + std::to_string(*number) +
           ", whose containers do not follow symbolic links: they need build " + std::to_string(FirstBuildWithObjectVolumes) +
           " (version 1803)";
}

}  // namespace porthole::windows
