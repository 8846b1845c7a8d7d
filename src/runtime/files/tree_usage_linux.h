#pragma once
// Private to this folder.
#include <cstdint>
#include <optional>
#include <string>

namespace porthole {

/// Bytes on the disk, and the number of files, directories and links.
struct TreeSum {
    std::uint64_t bytes = 0, inodes = 0;
};

/// FileSystem::tree_usage(), by descriptors: a container can make a tree that is deeper than any path. Nullopt, with errno, if `path`
/// cannot be looked at.
std::optional<TreeSum> tree_usage_by_descriptors(const std::string& path);

}  // namespace porthole
