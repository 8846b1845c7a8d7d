#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace porthole::apiserver {

/// Where the store's keys lie in etcd, below the prefix: objects where upstream's API server has them, whose keys leave out the group of
/// built-in kinds, and call some resources otherwise. What only Porthole has is under "/_porthole", a name that no resource has.
///
///     /registry/core/pods/ns/a               /pods/ns/a
///     /registry/core/services/ns/a           /services/specs/ns/a
///     /registry/example.com/widgets/ns/a     /example.com/widgets/ns/a
///     /allocation/node-ports/30000           /_porthole/allocation/node-ports/30000
std::string etcd_key_of(std::string_view key);
/// The other way round. What upstream keeps in addition to objects ("/ranges/serviceips") gets a key that no resource has. nullopt: not
/// below the prefix.
std::optional<std::string> key_of_etcd(std::string_view etcd_key);

}  // namespace porthole::apiserver
