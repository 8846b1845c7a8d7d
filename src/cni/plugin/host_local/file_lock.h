#pragma once
#include <memory>
#include <string>

#include "base/result.h"

namespace porthole::cni {

/// Held until destroyed, or until the process ends in whatever way.
class FileLock {
public:
    virtual ~FileLock() = default;
};

/// The seam to locks between processes.
class FileLocks {
public:
    virtual ~FileLocks() = default;
    /// Waits until nobody else holds the file, which is made if it is not there. Blocks the thread. Error: Io.
    virtual Result<std::unique_ptr<FileLock>> lock(const std::string& path) = 0;
};

/// The machine's own.
std::unique_ptr<FileLocks> make_file_locks();

}  // namespace porthole::cni
