#pragma once
#include <string>
#include <vector>

#include "windows/rule.h"

namespace porthole::windows {

/// Where the guide describes the rule: "docs/guide/windows_support.md#win101".
std::string anchor_of(const Rule& rule);

/// " (see docs/guide/windows_support.md#win101, #win204)", for the end of an event: where the guide describes the rules. Each is named
/// once.
std::string reference_to(const std::vector<const Rule*>& rules);

}  // namespace porthole::windows
