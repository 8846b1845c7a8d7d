#pragma once
#include <string_view>

#include "schema/value.h"

namespace porthole::schema {

/// What a plain (unquoted) scalar means.
Value resolve_yaml_scalar(std::string_view text);

}  // namespace porthole::schema
