#pragma once
#include <cstddef>

#include "schema/value.h"

namespace porthole::schema {

/// How deep lists and objects may be nested in what is read (JsonLimits, YamlLimits), and in what a patch makes of it: trees are
/// copied, printed and destroyed recursively, and what is deeper could not be read again.
inline constexpr std::size_t MaxTreeDepth = 512;

/// How deep lists and objects are nested: 0 for a scalar, 1 for an empty list. Adds the number of values to `*visited` where given.
std::size_t depth_of(const Value& value, std::size_t* visited = nullptr);

}  // namespace porthole::schema
