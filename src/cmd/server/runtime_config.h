#pragma once
#include <set>
#include <string>
#include <vector>

#include "base/result.h"

namespace porthole::cmd {

/// What --runtime-config asks for: VERSION=true or VERSION=false each. The versions that are to be served in addition to those that always
/// are. Errors: BadRequest, with what can be chosen.
Result<std::set<std::string>> read_runtime_config(const std::vector<std::string>& given);

}  // namespace porthole::cmd
