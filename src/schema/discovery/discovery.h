#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schema/registry.h"
#include "schema/value.h"

namespace porthole::schema {

/// A version of a group, as discovery lists it.
struct DiscoveredVersion {
    std::string version;
    /// The resources of another server, in the aggregated form; null: those of the registry.
    std::shared_ptr<const Array> resources = nullptr;
    bool stale = false;  ///< the other server cannot be asked now
    bool remote = false;
};
/// A group with at least one version, preferred version first. The core group's name is empty.
struct DiscoveredGroup {
    std::string name;
    std::vector<DiscoveredVersion> versions;
};
/// The groups of the registry, in its order. Groups and versions without resources are left out.
std::vector<DiscoveredGroup> served_groups(const Registry& registry);

/// The legacy documents of discovery.
Value discover_versions(std::string_view server_address);           ///< /api; the address as "10.0.0.1:6443"
Value discover_groups(const std::vector<DiscoveredGroup>& groups);  ///< /apis
/// /apis/G; nullopt: 404.
std::optional<Value> discover_group(const std::vector<DiscoveredGroup>& groups, std::string_view group);
/// /api/v1 and /apis/G/V of the registry; nullopt: 404.
std::optional<Value> discover_resources(const Registry& registry, std::string_view group, std::string_view version);

enum class AggregatedVersion { V2, V2Beta1 };
enum class AggregatedRoot { Core, Groups };  ///< /api, /apis

/// The aggregated document (KEP-3352). Its Content-Type must be exactly aggregated_content_type(), otherwise kubectl reads it as the legacy
/// form.
Value discover_all(const Registry& registry, const std::vector<DiscoveredGroup>& groups, AggregatedRoot root, AggregatedVersion version);
std::string_view aggregated_content_type(AggregatedVersion version);

}  // namespace porthole::schema
