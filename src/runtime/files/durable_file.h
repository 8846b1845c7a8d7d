#pragma once
#include <filesystem>
#include <string>

#include "base/result.h"

namespace porthole {

/// The whole file, of any size. These functions block the calling thread. Error: Io, also when there is no such file.
Result<std::string> read_file(const std::filesystem::path& path);
/// Whether something is there that this program may see. Never throws, as std::filesystem::exists() does for a path that is too long.
bool path_exists(const std::filesystem::path& path);
/// Replaces `path` so that a reader sees the old text or the new, never a part, also after a crash. Writes and syncs `path`.new first, so
/// there may be only one writer. On Linux the directory is not synced: after a crash it may be the old text. `mode` is that of the
/// file, less the umask; on Windows the file is private when it gives nothing to group and others. Error: Io; on Windows also as
/// windows_error().
Result<void> write_durably(const std::filesystem::path& path, const std::string& text, unsigned mode = 0600);

}  // namespace porthole
