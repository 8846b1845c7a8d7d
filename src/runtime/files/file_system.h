#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace porthole {

enum class FileType { Regular, Directory, Symlink, Socket, CharacterDevice, BlockDevice, Pipe };

/// The result of stat() for a file. On Windows the mode is derived from the attributes, and uid and gid are 0.
struct FileStatus {
    FileType type = FileType::Regular;
    std::uint32_t mode = 0;  ///< permission bits, setuid, setgid and sticky
    std::uint32_t uid = 0, gid = 0;
    std::uint64_t size = 0;
    std::uint64_t device = 0, inode = 0;  ///< together they name the file
    bool is_mount_point = false;          ///< something is mounted there; always false if the kernel does not report it (before Linux 5.8)
    std::chrono::sys_time<std::chrono::nanoseconds> modified;

    bool is_directory() const { return type == FileType::Directory; }
    bool is_regular() const { return type == FileType::Regular; }
};

/// Space of the file system below a path, in bytes, and its inodes (0 on Windows, which has none).
struct FileSystemUsage {
    std::uint64_t capacity = 0, available = 0, inodes = 0, inodes_free = 0;
};

/// The size of a directory tree: bytes on the disk, and the number of files, directories and links.
struct TreeUsage {
    std::uint64_t bytes = 0, inodes = 0;
};

/// The file system seam: short blocking operations on small files and directories, by absolute path. They block the calling thread: run
/// long ones (a large tree, a slow disk) on a WorkerPool. The machine's own file system may be used from any thread.
///
/// Every operation may fail with NotFound, AlreadyExists, Forbidden or Io; the message names the path.
class FileSystem {
public:
    /// The mode bits that share_with_group() adds.
    static constexpr std::uint32_t SharedFile = 0660, SharedFolder = 02770;
    static constexpr std::size_t ReadLimit = 64 << 20;
    virtual ~FileSystem() = default;

    /// The whole file. Error: RequestEntityTooLarge beyond `limit` bytes.
    virtual Result<std::string> read(const std::string& path, std::size_t limit = ReadLimit) = 0;
    /// Up to `count` bytes from `offset`; fewer only at the end.
    virtual Result<std::string> read_at(const std::string& path, std::uint64_t offset, std::size_t count) = 0;
    /// The same for a file that containers may have created: never blocks, as on a pipe, and follows no link at the path's end. Error:
    /// Forbidden for anything but a regular file.
    virtual Result<std::string> read_untrusted(const std::string& path, std::uint64_t offset, std::size_t count) {
        TRY(const FileStatus there, link_status(path));
        if (!there.is_regular()) return Error(Reason::Forbidden, path + " is not a regular file");
        return read_at(path, offset, count);
    }
    /// Creates the file or replaces its contents, not atomically; an existing file keeps its inode and gets `mode`.
    virtual Result<void> write(const std::string& path, std::string_view contents, std::uint32_t mode) = 0;
    /// Creates the file or replaces its contents so that a reader, even after a power failure, finds the old contents or the new. Writes
    /// `path`.new first, so there may be only one writer; a link at `path` is replaced, not followed.
    virtual Result<void> replace(const std::string& path, std::string_view contents, std::uint32_t mode) = 0;
    /// Creates the directory and its parents; succeeds if it exists (its mode is not changed).
    virtual Result<void> create_directories(const std::string& path, std::uint32_t mode) = 0;
    /// A file, a link or an empty directory.
    virtual Result<void> remove(const std::string& path) = 0;
    /// Removes it with everything below; succeeds if it does not exist. Never follows links, and never removes mount points or what is
    /// below them (Io).
    virtual Result<void> remove_all(const std::string& path);
    /// Replaces `to` atomically. Recent writes to `from` may be lost in a power failure: see replace().
    virtual Result<void> rename(const std::string& from, const std::string& to) = 0;
    virtual Result<void> create_symlink(const std::string& target, const std::string& path) = 0;
    virtual Result<std::string> read_link(const std::string& path) = 0;
    /// The path without links.
    virtual Result<std::string> real_path(const std::string& path) = 0;
    virtual Result<FileStatus> status(const std::string& path) = 0;
    /// Of the link itself.
    virtual Result<FileStatus> link_status(const std::string& path) = 0;
    /// Names, sorted.
    virtual Result<std::vector<std::string>> list(const std::string& path) = 0;
    virtual Result<void> change_mode(const std::string& path, std::uint32_t mode) = 0;
    /// Does not follow links.
    virtual Result<void> change_owner(const std::string& path, std::optional<std::uint32_t> uid, std::optional<std::uint32_t> gid) = 0;
    /// Gives the group read and write access to `path` and everything below; objects created later in its directories belong to the group
    /// too. Follows no links, even if a container creates one during the call (Linux), and does not enter other devices. Takes long for a
    /// large tree.
    virtual Result<void> share_with_group(const std::string& path, std::uint32_t gid);
    virtual Result<FileSystemUsage> usage(const std::string& path) = 0;
    /// Follows no links and does not enter other devices; files that are created or deleted during the call may or may not be counted.
    /// Takes long for a large tree.
    virtual Result<TreeUsage> tree_usage(const std::string& path);
    /// On systems with access lists (Windows): grants only the system and administrators rights to the directory and to everything created
    /// in it later; rules of parent directories do not apply to it. An already restricted directory keeps its list, including the accounts
    /// of allow_reading(). Otherwise its content is restricted as well; `readers`, in the form of allow_reading(), can read it at all
    /// times. No effect on other systems, where modes decide.
    virtual Result<void> restrict_to_administrators(const std::string& /*directory*/, const std::vector<std::string>& /*readers*/ = {}) {
        return {};
    }
    /// Allows an account to read such a directory and its content. `account` is a SID ("S-1-5-93-2-2") or a name that this machine knows.
    /// Error: NotFound for an unknown name.
    virtual Result<void> allow_reading(const std::string& /*directory*/, const std::string& /*account*/) { return {}; }

    bool exists(const std::string& path) { return link_status(path).has_value(); }
};

/// The machine's own.
std::unique_ptr<FileSystem> make_file_system();

/// "/a"; on Windows also "C:\\a" and "\\\\server\\a".
bool is_absolute_path(std::string_view path);
/// "a/b" and "c" → "a/b/c"; an absolute second part is put below the first.
std::string join_path(std::string_view base, std::string_view part);
/// "/a/b" → "/a"; "/" stays.
std::string parent_path(std::string_view path);
/// "/a/b" → "b".
std::string base_name(std::string_view path);

}  // namespace porthole
