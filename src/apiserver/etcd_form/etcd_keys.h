#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace porthole::apiserver {

/// The paths of the store's keys in etcd, below the prefix: objects are where upstream's API server has them, whose keys omit the group of
/// built-in kinds and use other names for some resources. Porthole's own records are under "/_porthole", a name that no resource has.
///
///     /registry/core/pods/ns/a               /pods/ns/a
///     /registry/core/services/ns/a           /services/specs/ns/a
///     /registry/example.com/widgets/ns/a     /example.com/widgets/ns/a
///     /allocation/node-ports/30000           /_porthole/allocation/node-ports/30000
std::string etcd_key_of(std::string_view key);
/// The reverse. Upstream's records that are not objects ("/ranges/serviceips") get a key that no resource has. nullopt: not below the
/// prefix.
std::optional<std::string> key_of_etcd(std::string_view etcd_key);

}  // namespace porthole::apiserver
