#pragma once
#include <filesystem>
#include <string>

#include "base/result.h"

namespace porthole {

/// The whole file, of any size. These functions block the calling thread. Error: Io, also if there is no such file.
Result<std::string> read_file(const std::filesystem::path& path);
/// Whether something is there that this program may see. Never throws, as std::filesystem::exists() does for a path that is too long.
bool path_exists(const std::filesystem::path& path);
/// FileSystem::replace() of the machine's own file system: a reader sees the old text or the new, never a part, even after a crash. On
/// Windows the file is private if `mode` grants nothing to group and others.
Result<void> write_durably(const std::filesystem::path& path, const std::string& text, unsigned mode = 0600);

}  // namespace porthole
