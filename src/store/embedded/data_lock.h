#pragma once
#include <string>

#include "runtime/files/file_lock.h"

namespace porthole::store {

/// Locks a data directory for this process by its file `lock`. Creates the directory (mode 0700) if it is missing. Errors: Conflict, with
/// the other process's id in the message; Io.
Result<FileLock> lock_data_directory(const std::string& directory);

}  // namespace porthole::store
