#pragma once
// Private to this folder.
#include <string>

#include "base/result.h"

namespace porthole {

/// FileSystem::remove_all(), by descriptors: a container can make a tree that is deeper than any path, and folders of any number of files.
Result<void> remove_tree_by_descriptors(const std::string& path);

}  // namespace porthole
