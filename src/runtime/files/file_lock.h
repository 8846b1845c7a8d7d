#pragma once
#include <optional>
#include <string>
#include <utility>

#include "base/result.h"

namespace porthole {

/// A lock on a file (flock), held until destroyed or until the process ends, even if killed. Advisory: only programs that also lock are
/// excluded. Linux only.
class FileLock {
public:
    /// nullopt if another process has it. Creates the file (mode 0600) if it is missing. Error: Io.
    static Result<std::optional<FileLock>> try_take(const std::string& path);
    /// Waits for the other process, blocking the thread. Error: Io.
    static Result<FileLock> take(const std::string& path);

    FileLock(FileLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    FileLock& operator=(FileLock&& other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }
    ~FileLock();

    /// Writes this process's id into the file, for read_holder(). Error: Io.
    Result<void> write_holder() const;
    /// "process 4711", or "another process" if the file does not contain an id.
    static std::string read_holder(const std::string& path);

private:
    explicit FileLock(int fd) : fd_(fd) {}
    static Result<std::optional<FileLock>> take(const std::string& path, int operation);

    int fd_;
};

}  // namespace porthole
