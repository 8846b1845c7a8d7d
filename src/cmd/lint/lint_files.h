#pragma once
#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/files/file_system.h"

namespace porthole::cmd::lint {

/// A file to check.
struct Source {
    std::string name;   ///< as given, or below a given directory
    std::string path;   ///< absolute
    bool named = true;  ///< by the user, not found in a directory
};

/// Limits of what is read.
inline constexpr std::size_t LargestFile = 16 << 20, MostFiles = 100'000;

/// The files that `paths` name, and in directories those whose name ends with .yaml, .yml or .json, except for links to directories and
/// names that begin with a dot. In the order of `paths`, then of names. Errors: those of the file system; BadRequest beyond MostFiles.
Result<std::vector<Source>> find_sources(FileSystem& files, const std::vector<std::string>& paths);

}  // namespace porthole::cmd::lint
