#pragma once
#include <cstdint>
#include <optional>
#include <string>

namespace porthole::apiserver {

/// Makes the JSON of an object say `"resourceVersion":""` in its metadata, as the store keeps it, and yields the byte offset between the
/// quotes. Other programs leave it out or write some number. nullopt, and no change, for what is not such an object; only
/// its metadata is looked at.
///
/// Example: {"kind":"Pod","metadata":{"name":"a"}}  becomes  {"kind":"Pod","metadata":{"resourceVersion":"","name":"a"}}
std::optional<std::uint32_t> open_revision_gap(std::string& json);

}  // namespace porthole::apiserver
