#include "runtime/files/file_system.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/result.h"
#include "runtime/files/tree_removal_linux.h"
#include "runtime/files/tree_usage_linux.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>

namespace porthole {
namespace {

Error file_error(const char* what, const std::string& path, int code = errno) {
    const Reason reason = code == ENOENT || code == ENOTDIR ? Reason::NotFound
                          : code == EEXIST                  ? Reason::AlreadyExists
                          : code == EACCES || code == EPERM ? Reason::Forbidden
                                                            : Reason::Io;
    return Error(reason, std::string(what) + " " + path + ": " + std::strerror(code));
}

struct OpenFile {
    int fd;
    explicit OpenFile(int fd) : fd(fd) {}
    OpenFile(const OpenFile&) = delete;
    ~OpenFile() {
        if (fd >= 0) ::close(fd);
    }
};

FileType type_of(mode_t mode) {
    switch (mode & S_IFMT) {
        case S_IFDIR:
            return FileType::Directory;
        case S_IFLNK:
            return FileType::Symlink;
        case S_IFSOCK:
            return FileType::Socket;
        case S_IFCHR:
            return FileType::CharacterDevice;
        case S_IFBLK:
            return FileType::BlockDevice;
        case S_IFIFO:
            return FileType::Pipe;
        default:
            return FileType::Regular;
    }
}

Result<FileStatus> status_of(const std::string& path, int flags) {
    struct statx from;
    if (::statx(AT_FDCWD, path.c_str(), flags, STATX_BASIC_STATS, &from) != 0) return file_error("stat", path);
    FileStatus status;
    status.type = type_of(from.stx_mode);
    status.mode = from.stx_mode & 07777;
    status.uid = from.stx_uid;
    status.gid = from.stx_gid;
    status.size = from.stx_size;
    status.device = makedev(from.stx_dev_major, from.stx_dev_minor);
    status.inode = from.stx_ino;
    status.is_mount_point = (from.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
    status.modified = std::chrono::sys_time<std::chrono::nanoseconds>(std::chrono::seconds(from.stx_mtime.tv_sec) +
                                                                      std::chrono::nanoseconds(from.stx_mtime.tv_nsec));
    return status;
}

/// Every file is opened without following a link, and changed through its descriptor: a container that moves folders about meanwhile
/// cannot lead to a file of the node.
Result<void> share_open(int parent, const char* name, const std::string& path, gid_t gid, std::optional<dev_t> device) {
    if (path.size() >= PATH_MAX) return file_error("open", path.substr(0, 100), ENAMETOOLONG);  // the depth that a container can make
    const OpenFile file(::openat(parent, name, O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct stat found;
    if (file.fd < 0 && errno == ENOENT && device) return {};  // gone since it was listed
    if (file.fd < 0 || ::fstat(file.fd, &found) != 0) return file_error("open", path);
    const bool folder = S_ISDIR(found.st_mode);
    if (folder && device && *device != found.st_dev) return {};
    if (::fchownat(file.fd, "", static_cast<uid_t>(-1), gid, AT_EMPTY_PATH) != 0) return file_error("chown", path);
    if (S_ISLNK(found.st_mode)) return {};
    const mode_t mode = (found.st_mode & 07777) | (folder ? FileSystem::SharedFolder : FileSystem::SharedFile);
    if (::chmod(("/proc/self/fd/" + std::to_string(file.fd)).c_str(), mode) != 0) return file_error("chmod", path);
    if (!folder) return {};
    const int listed = ::openat(file.fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const std::unique_ptr<DIR, int (*)(DIR*)> open(listed < 0 ? nullptr : ::fdopendir(listed), &::closedir);
    if (!open) return file_error("open", path);
    while (const dirent* entry = ::readdir(open.get())) {
        const std::string_view below(entry->d_name);
        if (below == "." || below == "..") continue;
        TRY_VOID(share_open(file.fd, entry->d_name, join_path(path, below), gid, found.st_dev));
    }
    return {};
}

class LinuxFileSystem final : public FileSystem {
public:
    Result<std::string> read(const std::string& path, std::size_t limit) override {
        TRY(std::string text, read_at(path, 0, limit + 1));
        if (text.size() > limit) return Error(Reason::RequestEntityTooLarge, "file " + path + " is too large");
        return text;
    }

    Result<std::string> read_at(const std::string& path, std::uint64_t offset, std::size_t count) override {
        // O_NONBLOCK: a pipe in a file's place must not stop the program until somebody writes to it.
        const OpenFile file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
        if (file.fd < 0) return file_error("open", path);
        return read_open(file.fd, path, offset, count);
    }

    Result<std::string> read_untrusted(const std::string& path, std::uint64_t offset, std::size_t count) override {
        const OpenFile file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY));
        if (file.fd < 0 && (errno == ELOOP || errno == ENXIO)) return Error(Reason::Forbidden, path + " is not a regular file");
        if (file.fd < 0) return file_error("open", path);
        struct stat there;
        if (::fstat(file.fd, &there) != 0) return file_error("stat", path);
        if (!S_ISREG(there.st_mode)) return Error(Reason::Forbidden, path + " is not a regular file");
        return read_open(file.fd, path, offset, count);
    }

    /// Most files are small, and some are read many times a second: room that is not needed is neither asked for nor filled.
    static Result<std::string> read_open(int fd, const std::string& path, std::uint64_t offset, std::size_t count) {
        std::string text;
        while (text.size() < count) {
            const std::size_t before = text.size();
            const std::size_t step = std::min<std::size_t>(count - before, before == 0 ? 8 << 10 : 256 << 10);
            ssize_t got = 0;
            text.resize_and_overwrite(before + step, [&](char* bytes, std::size_t) {
                got = ::pread(fd, bytes + before, step, static_cast<off_t>(offset + before));
                return before + static_cast<std::size_t>(std::max<ssize_t>(got, 0));
            });
            if (got < 0 && errno == EINTR) continue;
            if (got < 0) return file_error("read", path);
            if (got == 0) break;
        }
        return text;
    }

    Result<void> write(const std::string& path, std::string_view contents, std::uint32_t mode) override {
        const OpenFile file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK, 0600));
        if (file.fd < 0) return file_error("open", path);
        return write_open(file.fd, path, contents, mode);
    }

    static Result<void> write_open(int fd, const std::string& path, std::string_view contents, std::uint32_t mode) {
        while (!contents.empty()) {
            const ssize_t count = ::write(fd, contents.data(), contents.size());
            if (count < 0 && errno == EINTR) continue;
            if (count < 0) return file_error("write", path);
            contents.remove_prefix(count);
        }
        if (::fchmod(fd, mode) != 0) return file_error("chmod", path);
        return {};
    }

    Result<void> replace(const std::string& path, std::string_view contents, std::uint32_t mode) override {
        const std::string fresh = path + ".new";
        {
            const OpenFile file(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
            if (file.fd < 0) return file_error("open", fresh);
            TRY_VOID(write_open(file.fd, path, contents, mode));
            if (::fsync(file.fd) != 0) return file_error("sync", path);
        }
        TRY_VOID(rename(fresh, path));
        // Until then a power cut may bring the old file back.
        const OpenFile folder(::open(parent_path(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        if (folder.fd < 0 || ::fsync(folder.fd) != 0) return file_error("sync", parent_path(path));
        return {};
    }

    Result<void> create_directories(const std::string& path, std::uint32_t mode) override {
        if (::mkdir(path.c_str(), 0700) == 0) return change_mode(path, mode);  // not subject to the umask
        if (errno == ENOENT && path.size() > 1) {
            TRY_VOID(create_directories(parent_path(path), 0755));
            // Once more only: where the parent takes no entries, as in /proc, the answer stays the same for ever.
            if (::mkdir(path.c_str(), 0700) == 0) return change_mode(path, mode);
        }
        const int code = errno;
        TRY(const FileStatus there, code == EEXIST ? status(path) : Result<FileStatus>(file_error("mkdir", path, code)));
        if (!there.is_directory()) return file_error("mkdir", path, ENOTDIR);
        return {};
    }

    Result<void> remove(const std::string& path) override {
        if (::remove(path.c_str()) != 0) return file_error("remove", path);
        return {};
    }

    Result<void> remove_all(const std::string& path) override { return remove_tree_by_descriptors(path); }

    Result<void> rename(const std::string& from, const std::string& to) override {
        if (::rename(from.c_str(), to.c_str()) != 0) return file_error("rename", from);
        return {};
    }

    Result<void> create_symlink(const std::string& target, const std::string& path) override {
        if (::symlink(target.c_str(), path.c_str()) != 0) return file_error("symlink", path);
        return {};
    }

    Result<std::string> read_link(const std::string& path) override {
        std::string target(PATH_MAX, '\0');
        const ssize_t count = ::readlink(path.c_str(), target.data(), target.size());
        if (count < 0) return file_error("readlink", path);
        target.resize(count);
        return target;
    }

    Result<std::string> real_path(const std::string& path) override {
        char* resolved = ::realpath(path.c_str(), nullptr);
        if (!resolved) return file_error("resolve", path);
        std::string result(resolved);
        std::free(resolved);
        return result;
    }

    Result<FileStatus> status(const std::string& path) override { return status_of(path, 0); }
    Result<FileStatus> link_status(const std::string& path) override { return status_of(path, AT_SYMLINK_NOFOLLOW); }

    Result<void> share_with_group(const std::string& path, std::uint32_t gid) override {
        return share_open(AT_FDCWD, path.c_str(), path, gid, std::nullopt);
    }

    /// As `du -x`: blocks, not lengths, and a file with several names once.
    Result<TreeUsage> tree_usage(const std::string& path) override {
        const auto used = tree_usage_by_descriptors(path);
        if (!used) return file_error("stat", path);
        return TreeUsage{used->bytes, used->inodes};
    }

    Result<std::vector<std::string>> list(const std::string& path) override {
        DIR* directory = ::opendir(path.c_str());
        if (!directory) return file_error("open", path);
        std::vector<std::string> names;
        while (const dirent* entry = ::readdir(directory)) {
            const std::string_view name(entry->d_name);
            if (name != "." && name != "..") names.emplace_back(name);
        }
        ::closedir(directory);
        std::sort(names.begin(), names.end());
        return names;
    }

    Result<void> change_mode(const std::string& path, std::uint32_t mode) override {
        if (::chmod(path.c_str(), mode) != 0) return file_error("chmod", path);
        return {};
    }

    Result<void> change_owner(const std::string& path, std::optional<std::uint32_t> uid, std::optional<std::uint32_t> gid) override {
        if (::lchown(path.c_str(), uid.value_or(-1), gid.value_or(-1)) != 0) return file_error("chown", path);
        return {};
    }

    Result<FileSystemUsage> usage(const std::string& path) override {
        struct statvfs from;
        if (::statvfs(path.c_str(), &from) != 0) return file_error("statvfs", path);
        return FileSystemUsage{.capacity = from.f_blocks * from.f_frsize,
                               .available = from.f_bavail * from.f_frsize,
                               .inodes = from.f_files,
                               .inodes_free = from.f_ffree};
    }
};

}  // namespace

std::unique_ptr<FileSystem> make_file_system() { return std::make_unique<LinuxFileSystem>(); }

}  // namespace porthole
