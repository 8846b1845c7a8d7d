#pragma once
#include <string>
#include <vector>

namespace porthole::cmd {

/// Unmounts whatever is mounted in or below the folders, deepest first.
void unmount_below(const std::vector<std::string>& folders);
/// Removes the empty cgroups of that name and below it, in the one tree of version 2 or in every tree of version 1.
void remove_cgroups(const std::string& name);

}  // namespace porthole::cmd
