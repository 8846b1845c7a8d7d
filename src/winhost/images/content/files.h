#pragma once  // private to winhost/images
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace porthole::winhost {

/// Owns an open file.
class FileDescriptor {
public:
    FileDescriptor() = default;
    explicit FileDescriptor(int fd) : fd_(fd) {}
    FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    FileDescriptor& operator=(FileDescriptor&& other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }
    ~FileDescriptor();

    int get() const { return fd_; }
    explicit operator bool() const { return fd_ >= 0; }

private:
    int fd_ = -1;
};

/// An error from errno: NotFound, AlreadyExists, Forbidden, or Io. "reading /x: No such file or directory"
Error io_error(std::string_view doing, const std::string& path);

/// Error: Io.
Result<void> write_all(int fd, std::string_view bytes, const std::string& path);
/// The whole file appears or none of it, even after a power failure.
Result<void> write_file_atomically(const std::string& path, std::string_view contents);
Result<void> make_folders(const std::string& path);
/// With everything below, never through links; success if it is not there.
Result<void> remove_tree(const std::string& path);

/// Disk use of files.
struct TreeUsage {
    std::uint64_t bytes = 0, inodes = 0;
};
/// Disk use of the files below, each inode once.
TreeUsage measure_tree(const std::string& path);

}  // namespace porthole::winhost
