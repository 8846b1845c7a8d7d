#pragma once
#include <string>

#include "base/result.h"

namespace porthole::store {

/// Holds a data directory for this process alone, until it is destroyed or the process ends in any way (flock on the file `lock`).
class DataLock {
public:
    /// Makes the directory (mode 0700) if it is missing. Errors: Conflict, with the other process's id in the message; Io.
    static Result<DataLock> acquire(const std::string& directory);
    DataLock(DataLock&& other) noexcept;
    DataLock& operator=(DataLock&& other) noexcept;
    ~DataLock();

private:
    explicit DataLock(int file) : file_(file) {}
    int file_ = -1;
};

}  // namespace porthole::store
