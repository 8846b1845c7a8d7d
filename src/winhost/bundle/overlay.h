#pragma once
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace porthole::winhost {

/// Mounts `lowers` (topmost first) below `upper` at `target`; `work` must be an empty folder on upper's file system. Blocking.
/// Errors: Invalid when the paths together are longer than the kernel takes (a page); Io.
Result<void> mount_overlay(const std::vector<std::string>& lowers, const std::string& upper, const std::string& work,
                           const std::string& target);
/// Something of the host that a container is given, opened once: what happens at its path afterwards changes nothing.
class HeldSource {
public:
    /// `path` lies below `root`; both are without links, as real_path() yields them. Errors: Forbidden when there is a link in the path
    /// after all, so that somebody has put it there meanwhile; NotFound; Io.
    static Result<HeldSource> open(const std::string& root, const std::string& path);
    HeldSource(HeldSource&& other) noexcept : fd_(std::exchange(other.fd_, -1)), is_directory_(other.is_directory_) {}
    HeldSource& operator=(HeldSource&&) = delete;
    ~HeldSource();

    bool is_directory() const { return is_directory_; }
    /// Shows it at `target`, a folder or a file as it is one. Error: Io.
    Result<void> bind_to(const std::string& target) const;
    /// /proc/self/fd/N, for the opening process only.
    std::string path() const;

private:
    HeldSource(int fd, bool is_directory) : fd_(fd), is_directory_(is_directory) {}
    int fd_;
    bool is_directory_;
};

bool is_mounted(const std::string& target);

}  // namespace porthole::winhost
