#pragma once
#include <functional>
#include <string>

#include "base/result.h"

namespace porthole::scheduler {

/// The content of a file that the configuration names.
using ReadFile = std::function<Result<std::string>(const std::string& path)>;

}  // namespace porthole::scheduler
