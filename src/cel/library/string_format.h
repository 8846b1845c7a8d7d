#pragma once
#include <string_view>

#include "cel/values/value.h"

namespace porthole::cel {

/// `pattern.format(arguments)`: %s, %d, %f, %e, %b, %x, %X, %o and %%, with precision for %f and %e. Kubernetes' version formats numbers
/// for people ("1,234.5", "1.5 × 10⁰³") and quotes texts within lists; the newer version, `plain`, does not.
Value format_string(std::string_view pattern, const Value& arguments, bool plain, Work& work);

}  // namespace porthole::cel
