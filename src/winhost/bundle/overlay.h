#pragma once
#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/processes/owner_map.h"

namespace porthole::winhost {

/// What an overlay is made of. All are folders on the disk.
struct OverlayFolders {
    std::vector<std::string> lowers;  ///< topmost first
    std::string upper, work;          ///< side by side; `work` is empty
};

/// Mounts an overlay at `target`, whose files belong to whom `owners` say, if any, whatever the disk says; then a folder "layers" next to
/// `upper` is used, and stays. Blocking. Errors: Invalid when the paths together are longer than the kernel takes (a page); Io.
Result<void> mount_overlay(const OverlayFolders& folders, const std::string& target, const OwnerMap* owners);
bool is_mounted(const std::string& target);

}  // namespace porthole::winhost
