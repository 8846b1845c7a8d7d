#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "schema/value.h"

namespace porthole::schema {

/// A JSON pointer (RFC 6901): the keys and indices on the way.
using Pointer = std::vector<std::string>;
Result<Pointer> parse_pointer(std::string_view text);

/// The value that `pointer` names; nullptr where a step is missing.
Value* find_at(Value& root, const Pointer& pointer);

/// The index an array's step means: below `limit`, no leading zero; SIZE_MAX for anything else.
std::size_t parse_index(std::string_view step, std::size_t limit);

}  // namespace porthole::schema
