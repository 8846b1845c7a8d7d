#pragma once
#include <set>
#include <string>
#include <vector>

#include "base/result.h"

namespace porthole::cmd {

/// Parses --runtime-config: VERSION=true or VERSION=false each. Returns the versions to serve in addition to the default ones. Errors:
/// BadRequest with the possible values.
Result<std::set<std::string>> read_runtime_config(const std::vector<std::string>& given);

}  // namespace porthole::cmd
