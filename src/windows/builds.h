#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace porthole::windows {

/// The first whose pods may have several containers in one network namespace, by the second version of the host network service.
inline constexpr std::uint32_t OldestBuild = 17763;
/// The first whose containers follow the links by which files of ConfigMaps and Secrets are replaced (1803).
inline constexpr std::uint32_t FirstBuildWithObjectVolumes = 17134;
/// The first whose host network service knows session affinity.
inline constexpr std::uint32_t FirstBuildWithAffinity = 19551;

/// Why `version` ("10.0.19045") is not one that nodes are known to run on, for people; "" where it is, and for no version at all.
std::string unknown_build(std::string_view version);
/// Why a node of `version` cannot have configMap, secret, downwardAPI and projected volumes, for people; "" where it can, and where the
/// version says nothing.
std::string object_volumes_refusal(std::string_view version);

}  // namespace porthole::windows
