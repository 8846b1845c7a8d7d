#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace porthole::windows {

/// A release of Windows whose build a node may have.
struct Build {
    std::uint32_t number;
    const char* name;
};

/// Oldest first. Upstream's list (Server 2019, 2004, 20H2) and the Server releases since.
std::span<const Build> known_builds();

/// The first whose pods may have several containers in one network namespace, by the second version of the host network service.
inline constexpr std::uint32_t OldestBuild = 17763;

/// Why `version` ("10.0.19045") is not one that nodes are known to run on, for people; "" where it is, and for no version at all.
std::string unknown_build(std::string_view version);

}  // namespace porthole::windows
