#pragma once
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "schema/registry.h"
#include "schema/value.h"

namespace porthole::schema {

/// The legacy documents of discovery. Groups and versions without resources are left out.
Value discover_versions(std::string_view server_address);                               ///< /api; the address as "10.0.0.1:6443"
Value discover_groups(const Registry& registry);                                        ///< /apis
std::optional<Value> discover_group(const Registry& registry, std::string_view group);  ///< /apis/G; nullopt: 404
/// /api/v1 and /apis/G/V; nullopt: 404.
std::optional<Value> discover_resources(const Registry& registry, std::string_view group, std::string_view version);

enum class AggregatedVersion { V2, V2Beta1 };
enum class AggregatedRoot { Core, Groups };  ///< /api, /apis

/// The aggregated document (KEP-3352). Versions in `stale` ("group/version"), whose own server cannot be asked now, say so.
/// Its Content-Type must be exactly aggregated_content_type(), or kubectl takes it for the legacy form.
Value discover_all(const Registry& registry, AggregatedRoot root, AggregatedVersion version, const std::set<std::string>& stale = {});
std::string_view aggregated_content_type(AggregatedVersion version);

}  // namespace porthole::schema
