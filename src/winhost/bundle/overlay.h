#pragma once
#include <string>
#include <vector>

#include "base/result.h"

namespace porthole::winhost {

/// Mounts `lowers` (topmost first) below `upper` at `target`; `work` must be an empty folder on upper's file system. Blocking.
/// Errors: Invalid when the paths together are longer than the kernel takes (a page); Io.
Result<void> mount_overlay(const std::vector<std::string>& lowers, const std::string& upper, const std::string& work,
                           const std::string& target);
bool is_mounted(const std::string& target);

}  // namespace porthole::winhost
