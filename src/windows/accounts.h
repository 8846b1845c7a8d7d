#pragma once
#include <string_view>
#include <vector>

namespace porthole::windows {

/// Why `name` cannot be the value of windowsOptions.runAsUserName, in Kubernetes' words; empty if it can: "USER" or "DOMAIN\USER". Says
/// nothing about whether the account exists.
std::vector<std::string_view> account_problems(std::string_view name);

}  // namespace porthole::windows
