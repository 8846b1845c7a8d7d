#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace porthole::windows {

/// The oldest supported build: the first whose pods may have several containers in one network namespace, with version 2 of HNS.
inline constexpr std::uint32_t OldestBuild = 17763;
/// The first build whose containers follow the links by which files of ConfigMaps and Secrets are replaced (1803).
inline constexpr std::uint32_t FirstBuildWithObjectVolumes = 17134;
/// The first build whose HNS supports session affinity.
inline constexpr std::uint32_t FirstBuildWithAffinity = 19551;

/// For people: why `version` ("10.0.19045") is not a supported version of nodes; "" if it is, and for an empty version.
std::string unknown_build(std::string_view version);
/// For people: why a node of `version` cannot have configMap, secret, downwardAPI and projected volumes; "" if it can, and if the version
/// is unknown.
std::string object_volumes_refusal(std::string_view version);

}  // namespace porthole::windows
