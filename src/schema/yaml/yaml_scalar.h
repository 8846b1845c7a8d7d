#pragma once
#include <string_view>

#include "schema/value.h"

namespace porthole::schema {

/// The value of a plain (unquoted) scalar.
Value resolve_yaml_scalar(std::string_view text);

}  // namespace porthole::schema
