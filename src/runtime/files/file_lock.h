#pragma once
#include <optional>
#include <string>
#include <utility>

#include "base/result.h"

namespace porthole {

/// The lock of a file (flock), until it is destroyed or the process ends in any way. Among programs that ask for it; Linux only.
class FileLock {
public:
    /// nullopt where another has it. Makes the file (mode 0600) if it is missing. Error: Io.
    static Result<std::optional<FileLock>> try_take(const std::string& path);
    /// Waits for the other, blocking the thread. Error: Io.
    static Result<FileLock> take(const std::string& path);

    FileLock(FileLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    FileLock& operator=(FileLock&& other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }
    ~FileLock();

    /// Makes this process's id the file's text, for read_holder(). Error: Io.
    Result<void> write_holder() const;
    /// "process 4711", or "another process" where the file does not say.
    static std::string read_holder(const std::string& path);

private:
    explicit FileLock(int fd) : fd_(fd) {}
    static Result<std::optional<FileLock>> take(const std::string& path, int operation);

    int fd_;
};

}  // namespace porthole
