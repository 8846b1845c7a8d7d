#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "runtime/files/file_system.h"

/// Safe access as root to files that containers can change: containers of an emulated host write to their own file systems, to /.ph, and
/// with a hostPath volume of C:\ to the host's. A path there can be redirected immediately after it was checked, so nothing there is opened
/// by its whole path.
namespace porthole::winhost {

/// A file descriptor, closed with its owner.
class FileHandle {
public:
    explicit FileHandle(int fd = -1) : fd_(fd) {}
    FileHandle(FileHandle&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    FileHandle& operator=(FileHandle&&) = delete;
    ~FileHandle();
    int get() const { return fd_; }
    bool is_open() const { return fd_ >= 0; }

private:
    int fd_;
};

/// A file, directory or socket that was opened once: later changes at its path have no effect.
class HeldSource {
public:
    HeldSource(FileHandle descriptor, bool is_directory) : descriptor_(std::move(descriptor)), is_directory_(is_directory) {}

    bool is_directory() const { return is_directory_; }
    /// Bind-mounts it at `target`, which must be a directory or a file like it. Error: Io.
    Result<void> bind_to(const std::string& target) const;
    /// /proc/self/fd/N, for the opening process only, while this is there.
    std::string path() const;

private:
    FileHandle descriptor_;
    bool is_directory_;
};

/// Names a file of the machine.
struct FileId {
    std::uint64_t device = 0, inode = 0;
    bool operator==(const FileId&) const = default;
};

/// A directory whose contents containers may change, while the directory itself does not move. Paths are relative to it. No operation
/// follows a link, leaves the directory or blocks. New files and directories belong to the owner of the directory: root of the containers.
/// Errors: Forbidden if a path leads over a link or to something other than a regular file; NotFound; Io. Blocking.
class HeldTree {
public:
    /// `root` is a path that only this process changes.
    static Result<HeldTree> open(const std::string& root);

    Result<std::string> read(const std::string& path, std::size_t limit) const;
    /// Replaces whatever has the name by a new file, so that nothing is written through a link or into a file that another program has
    /// open. Requires: the file's directory exists.
    Result<void> write(const std::string& path, std::string_view contents, std::uint32_t mode) const;
    /// Copies a file from a place that containers cannot reach, with its modification time. `same_as`, if not empty, is a path in this tree
    /// with the same contents; the new name becomes a hard link to it if the file system supports that.
    Result<void> copy_in(const std::string& source, const std::string& path, const std::string& same_as) const;
    /// Whether a regular file of this size and modification time (nanoseconds since 1970) is there.
    bool holds(const std::string& path, std::uint64_t size, std::int64_t modified) const;
    Result<void> create_directories(const std::string& path, std::uint32_t mode) const;
    /// Fine if there is a link already.
    Result<void> create_symlink(const std::string& target, const std::string& path) const;
    Result<HeldSource> hold(const std::string& path) const;
    /// Of the path itself: a link is a link. Its inode's number, and whether it is a mount point, are not told.
    Result<FileStatus> status(const std::string& path) const;
    Result<FileType> type(const std::string& path) const;
    /// Whether the links at `path` lead to something. They are resolved inside the directory: an absolute one starts at the directory.
    bool leads_somewhere(const std::string& path) const { return leads_to(path).has_value(); }
    /// What they lead to.
    Result<FileId> leads_to(const std::string& path) const;
    /// Names of a directory's entries.
    Result<std::vector<std::string>> list(const std::string& path) const;
    /// A file, a link or an empty directory.
    Result<void> remove(const std::string& path) const;
    /// With everything below; success if it does not exist. Links are removed, not followed; mount points below stay, and so do their
    /// parents (Io).
    Result<void> remove_all(const std::string& path) const;
    Result<void> remove_contents(const std::string& path) const;

private:
    explicit HeldTree(FileHandle root) : root_(std::move(root)) {}
    Result<void> give(int file) const;
    Result<FileHandle> open_below(const std::string& path, std::uint64_t flags) const;
    /// Opens the directory of `path`, to change names in it.
    Result<FileHandle> open_parent(const std::string& path) const;
    template <typename Fill>
    Result<void> replace(const std::string& path, std::uint32_t mode, Fill fill) const;

    FileHandle root_;
};

/// The socket that a container's init has created in a directory of its own (/.ph), whose location only the host changes. Connect to it by
/// HeldSource::path(). Error: Forbidden for anything but a socket; NotFound; Io.
Result<HeldSource> hold_socket(const std::string& path);

}  // namespace porthole::winhost
