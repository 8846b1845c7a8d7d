#pragma once
#include <cstdint>
#include <optional>
#include <string>

namespace porthole::apiserver {

/// Sets `"resourceVersion":""` in the metadata of an object's JSON, which is the store's form, and returns the byte offset between the
/// quotes. Other programs omit it or write some number. nullopt, and no change, if it is not such an object; only its metadata is examined.
///
/// Example: {"kind":"Pod","metadata":{"name":"a"}}  becomes  {"kind":"Pod","metadata":{"resourceVersion":"","name":"a"}}
std::optional<std::uint32_t> open_revision_gap(std::string& json);

}  // namespace porthole::apiserver
