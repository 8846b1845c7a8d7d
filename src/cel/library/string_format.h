#pragma once
#include <string_view>

#include "cel/values/value.h"

namespace porthole::cel {

/// `pattern.format(arguments)`: %s, %d, %f, %e, %b, %x, %X, %o and %%, with precision for %f and %e.
Value format_string(std::string_view pattern, const Value& arguments);

}  // namespace porthole::cel
