#pragma once
#include <string>
#include <vector>

#include "base/result.h"

namespace porthole::winhost {

/// Mounts `lowers` (topmost first) below `upper` at `target`; `work` must be an empty folder on upper's file system. Blocking.
/// Errors: Invalid when the paths together are longer than the kernel takes (a page); Io.
Result<void> mount_overlay(const std::vector<std::string>& lowers, const std::string& upper, const std::string& work,
                           const std::string& target);
/// Takes away every mount at or below `folder`, the deepest first; busy ones go as soon as nobody uses them. Fine if there is none.
Result<void> unmount_below(const std::string& folder);
bool is_mounted(const std::string& target);

}  // namespace porthole::winhost
