#pragma once
#include <string_view>

#include "base/result.h"
#include "schema/value.h"

namespace porthole::hns {

/// The entries of a list of assumptions, of any area, from YAML or JSON: {"assumptions": [...]}. Error: BadRequest.
Result<schema::Array> assumption_entries(std::string_view text);

}  // namespace porthole::hns
