#pragma once
#include <filesystem>
#include <string>

#include "base/result.h"

namespace porthole {

/// The whole file. Error: Io.
Result<std::string> read_file(const std::filesystem::path& path);
/// Replaces `path` by `text` so that a reader sees the old or the new file and a crash loses neither. `mode` is of a new file, where
/// the system knows modes. Error: Io.
Result<void> write_durably(const std::filesystem::path& path, const std::string& text, unsigned mode = 0600);

}  // namespace porthole
