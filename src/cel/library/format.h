#pragma once
#include <cstdint>

#include "cel/values/value.h"

namespace porthole::cel {

/// The pattern length that a named format counts as, for costs; 0 for other values.
std::uint64_t format_pattern_size(const Value& format);

}  // namespace porthole::cel
