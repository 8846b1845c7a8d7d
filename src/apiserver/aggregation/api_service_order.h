#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

#include "api/apiregistration_v1.h"

namespace porthole::apiserver {

using api::apiregistration::v1::APIService;

/// The position of a group version in discovery: groups by the largest `group` of their versions, versions by `version`, largest first.
struct ApiPriority {
    std::int32_t group = 0, version = 0;
};

/// Of custom resources: after all built-in groups, with versions ordered by name.
inline constexpr ApiPriority CustomResourcePriority{.group = 1000, .version = 100};

/// Of a built-in group version; nullopt for one that is not in upstream's table, which has no APIService object either.
std::optional<ApiPriority> built_in_priority(std::string_view group, std::string_view version);

/// The name of the APIService of a group version.
std::string api_service_name(std::string_view group, std::string_view version);

/// Whether `left` comes before `right` among the versions of a group.
bool is_preferred(std::string_view left_version, std::int32_t left, std::string_view right_version, std::int32_t right);

}  // namespace porthole::apiserver
