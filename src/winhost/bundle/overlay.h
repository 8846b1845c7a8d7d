#pragma once
#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/processes/owner_map.h"

namespace porthole::winhost {

/// The directories of an overlay, all on the disk.
struct OverlayFolders {
    std::vector<std::string> lowers;  ///< topmost first
    std::string upper, work;          ///< side by side; `work` is empty
};

/// Mounts an overlay at `target`. If there are `owners`, its files appear with these; then a directory "layers" next to `upper` is used,
/// and stays. Blocking. Errors: Invalid if the paths together are longer than the kernel accepts (a page); Io.
Result<void> mount_overlay(const OverlayFolders& folders, const std::string& target, const OwnerMap* owners);
bool is_mounted(const std::string& target);

}  // namespace porthole::winhost
