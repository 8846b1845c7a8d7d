#include "winhost/bundle/held_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "runtime/files/file_system.h"

namespace porthole::winhost {
namespace {

/// Beside the place of what is being written. Containers may take the name first: then it is removed once, and refused the next time.
constexpr const char* FreshSuffix = ".porthole-new";

Error tree_error(const std::string& doing, int code = errno) {
    const Reason reason = code == ENOENT || code == ENOTDIR                                   ? Reason::NotFound
                          : code == ELOOP || code == EXDEV || code == ENXIO || code == EACCES ? Reason::Forbidden
                                                                                              : Reason::Io;
    return Error(reason, doing + ": " + std::strerror(code));
}

FileType type_of(mode_t mode) {
    if (S_ISLNK(mode)) return FileType::Symlink;
    if (S_ISDIR(mode)) return FileType::Directory;
    return S_ISSOCK(mode) ? FileType::Socket : FileType::Regular;
}

std::int64_t nanoseconds(const timespec& time) { return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec; }

Result<void> write_bytes(int fd, std::string_view contents) {
    while (!contents.empty()) {
        const ssize_t count = ::write(fd, contents.data(), contents.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return tree_error("writing");
        contents.remove_prefix(static_cast<std::size_t>(count));
    }
    return {};
}

Result<void> copy_bytes(int from, int to) {
    std::string piece(1 << 20, '\0');
    for (;;) {
        const ssize_t count = ::read(from, piece.data(), piece.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return tree_error("reading");
        if (count == 0) return {};
        TRY_VOID(write_bytes(to, std::string_view(piece).substr(0, static_cast<std::size_t>(count))));
    }
}

constexpr int DeepestFolder = 128;  // a Windows path has 260 characters

bool is_mount_point(int folder) {
    struct statx there{};
    if (::statx(folder, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &there) != 0) return true;
    return there.stx_attributes & STATX_ATTR_MOUNT_ROOT;
}

Result<void> remove_inside(int folder, const std::string& name, int depth);

/// A file, a link, or a folder with what is in it.
Result<void> remove_below(int parent, const std::string& name, int depth) {
    if (::unlinkat(parent, name.c_str(), 0) == 0 || errno == ENOENT) return {};
    if (errno != EISDIR) return tree_error("removing " + name);
    const FileHandle folder(::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!folder.is_open()) return tree_error("opening " + name);
    if (is_mount_point(folder.get())) return Error(Reason::Io, name + " is a mount point and is not removed");
    TRY_VOID(remove_inside(folder.get(), name, depth));
    if (::unlinkat(parent, name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT) return {};
    return tree_error("removing " + name);
}

Result<std::vector<std::string>> names_in(int folder, const std::string& name) {
    const int listed = ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR* entries = listed >= 0 ? ::fdopendir(listed) : nullptr;
    if (!entries) return Error(Reason::Io, name + " cannot be listed");
    std::vector<std::string> names;
    while (const dirent* entry = ::readdir(entries))
        if (const std::string_view own = entry->d_name; own != "." && own != "..") names.emplace_back(own);
    ::closedir(entries);
    return names;
}

Result<void> remove_inside(int folder, const std::string& name, int depth) {
    if (depth == 0) return Error(Reason::Io, name + " is too deep");
    TRY(const std::vector<std::string> names, names_in(folder, name));
    for (const std::string& own : names) TRY_VOID(remove_below(folder, own, depth - 1));
    return {};
}

}  // namespace

FileHandle::~FileHandle() {
    if (fd_ >= 0) ::close(fd_);
}

std::string HeldSource::path() const { return "/proc/self/fd/" + std::to_string(descriptor_.get()); }

Result<void> HeldSource::bind_to(const std::string& target) const {
    if (::mount(path().c_str(), target.c_str(), nullptr, MS_BIND | MS_REC, nullptr) == 0) return {};
    return Error(Reason::Io, "binding a mount's source to " + target + ": " + std::strerror(errno));
}

Result<HeldTree> HeldTree::open(const std::string& root) {
    FileHandle descriptor(::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!descriptor.is_open()) return tree_error("opening " + root);
    return HeldTree(std::move(descriptor));
}

Result<FileHandle> HeldTree::open_below(const std::string& path, std::uint64_t flags) const {
    open_how how{};
    how.flags = flags | O_CLOEXEC;
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
    const std::string below = path.empty() ? "." : path;
    FileHandle descriptor(static_cast<int>(::syscall(SYS_openat2, root_.get(), below.c_str(), &how, sizeof how)));
    if (!descriptor.is_open()) return tree_error("opening " + path);
    return descriptor;
}

Result<void> HeldTree::give(int file) const {
    struct stat root;
    if (::fstat(root_.get(), &root) == 0 && ::fchown(file, root.st_uid, root.st_gid) == 0) return {};
    return tree_error("giving a file to the owner of its tree");
}

Result<FileHandle> HeldTree::open_parent(const std::string& path) const {
    const std::size_t end = path.rfind('/');
    return open_below(end == path.npos ? "" : path.substr(0, end), O_RDONLY | O_DIRECTORY);
}

Result<std::string> HeldTree::read(const std::string& path, std::size_t limit) const {
    TRY(const FileHandle file, open_below(path, O_RDONLY | O_NONBLOCK | O_NOCTTY));
    struct stat there;
    if (::fstat(file.get(), &there) != 0) return tree_error("looking at " + path);
    if (!S_ISREG(there.st_mode)) return Error(Reason::Forbidden, path + " is not a regular file");
    // In pieces: the limit is often far more than there is, and room for all of it takes longer to fill than the file to read.
    std::string text;
    for (ssize_t count = 1; count != 0 && text.size() <= limit;) {
        const std::size_t before = text.size(), step = std::min<std::size_t>(limit + 1 - before, 16 << 10);
        text.resize_and_overwrite(before + step, [&](char* bytes, std::size_t) {
            count = ::pread(file.get(), bytes + before, step, static_cast<off_t>(before));
            return before + static_cast<std::size_t>(std::max<ssize_t>(count, 0));
        });
        if (count < 0 && errno != EINTR) return tree_error("reading " + path);
    }
    if (text.size() > limit) return Error(Reason::RequestEntityTooLarge, "file " + path + " is too large");
    return text;
}

/// `fill` writes into the new file, by its descriptor.
template <typename Fill>
Result<void> HeldTree::replace(const std::string& path, std::uint32_t mode, Fill fill) const {
    TRY(const FileHandle folder, open_parent(path));
    const std::string name = base_name(path), fresh = name + FreshSuffix;
    (void)::unlinkat(folder.get(), fresh.c_str(), 0);
    const FileHandle file(::openat(folder.get(), fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file.is_open()) return tree_error("making " + path);
    Result<void> done = fill(file.get());
    if (done) done = give(file.get());
    if (done && ::fchmod(file.get(), mode) != 0) done = tree_error("changing the mode of " + path);
    if (done && ::renameat(folder.get(), fresh.c_str(), folder.get(), name.c_str()) != 0) done = tree_error("replacing " + path);
    if (!done) (void)::unlinkat(folder.get(), fresh.c_str(), 0);
    return done;
}

Result<void> HeldTree::write(const std::string& path, std::string_view contents, std::uint32_t mode) const {
    return replace(path, mode, [&](int fd) { return write_bytes(fd, contents); });
}

Result<void> HeldTree::copy_in(const std::string& source, const std::string& path, const std::string& same_as) const {
    if (!same_as.empty()) {
        TRY(const FileHandle from, open_parent(same_as));
        TRY(const FileHandle to, open_parent(path));
        const std::string name = base_name(path), fresh = name + FreshSuffix;
        (void)::unlinkat(to.get(), fresh.c_str(), 0);
        if (::linkat(from.get(), base_name(same_as).c_str(), to.get(), fresh.c_str(), 0) == 0) {  // of a link the link itself
            if (::renameat(to.get(), fresh.c_str(), to.get(), name.c_str()) == 0) return {};
            (void)::unlinkat(to.get(), fresh.c_str(), 0);
        }
    }
    const FileHandle file(::open(source.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat from;
    if (!file.is_open() || ::fstat(file.get(), &from) != 0) return tree_error("opening " + source);
    return replace(path, from.st_mode & 0777, [&](int fd) -> Result<void> {
        TRY_VOID(copy_bytes(file.get(), fd));
        const timespec times[] = {from.st_mtim, from.st_mtim};
        return ::futimens(fd, times) == 0 ? Result<void>() : tree_error("setting the time of " + path);
    });
}

bool HeldTree::holds(const std::string& path, std::uint64_t size, std::int64_t modified) const {
    const auto file = open_below(path, O_PATH);
    struct stat there;
    return file && ::fstat(file->get(), &there) == 0 && S_ISREG(there.st_mode) && static_cast<std::uint64_t>(there.st_size) == size &&
           nanoseconds(there.st_mtim) == modified;
}

Result<void> HeldTree::create_directories(const std::string& path, std::uint32_t mode) const {
    for (std::size_t end = 0; end < path.size();) {
        end = std::min(path.find('/', end + 1), path.size());
        const std::string here = path.substr(0, end);
        TRY(const FileHandle folder, open_parent(here));
        if (::mkdirat(folder.get(), base_name(here).c_str(), 0700) != 0) {
            if (errno != EEXIST) return tree_error("making " + here);
            TRY_VOID(open_below(here, O_RDONLY | O_DIRECTORY));
            continue;
        }
        TRY(const FileHandle made, open_below(here, O_RDONLY | O_DIRECTORY));
        TRY_VOID(give(made.get()));
        if (::fchmod(made.get(), end == path.size() ? mode : 0755) != 0) return tree_error("changing the mode of " + here);
    }
    return {};
}

Result<void> HeldTree::create_symlink(const std::string& target, const std::string& path) const {
    TRY(const FileHandle folder, open_parent(path));
    if (::symlinkat(target.c_str(), folder.get(), base_name(path).c_str()) != 0 && errno != EEXIST) return tree_error("linking " + path);
    return {};
}

Result<HeldSource> HeldTree::hold(const std::string& path) const {
    TRY(FileHandle descriptor, open_below(path, O_PATH));
    struct stat status;
    if (::fstat(descriptor.get(), &status) != 0) return tree_error("looking at " + path);
    return HeldSource(std::move(descriptor), S_ISDIR(status.st_mode));
}

Result<FileStatus> HeldTree::status(const std::string& path) const {
    TRY(const FileHandle folder, open_parent(path));
    struct stat there;
    if (::fstatat(folder.get(), base_name(path).c_str(), &there, AT_SYMLINK_NOFOLLOW) != 0) return tree_error("looking at " + path);
    return FileStatus{.type = type_of(there.st_mode),
                      .mode = there.st_mode & 07777,
                      .uid = there.st_uid,
                      .gid = there.st_gid,
                      .size = static_cast<std::uint64_t>(there.st_size),
                      .modified = std::chrono::sys_time<std::chrono::nanoseconds>(std::chrono::nanoseconds(nanoseconds(there.st_mtim)))};
}

Result<FileType> HeldTree::type(const std::string& path) const {
    TRY(const FileStatus there, status(path));
    return there.type;
}

Result<FileId> HeldTree::leads_to(const std::string& path) const {
    open_how how{};
    how.flags = O_PATH | O_CLOEXEC;
    how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
    const FileHandle found(static_cast<int>(::syscall(SYS_openat2, root_.get(), path.c_str(), &how, sizeof how)));
    struct stat there;
    if (!found.is_open() || ::fstat(found.get(), &there) != 0) return tree_error("following " + path);
    return FileId{there.st_dev, there.st_ino};
}

Result<std::vector<std::string>> HeldTree::list(const std::string& path) const {
    TRY(const FileHandle folder, open_below(path, O_RDONLY | O_DIRECTORY));
    return names_in(folder.get(), path);
}

Result<void> HeldTree::remove(const std::string& path) const {
    TRY(const FileHandle folder, open_parent(path));
    const std::string name = base_name(path);
    if (::unlinkat(folder.get(), name.c_str(), 0) == 0) return {};
    if (errno == EISDIR && ::unlinkat(folder.get(), name.c_str(), AT_REMOVEDIR) == 0) return {};
    return tree_error("removing " + path);
}

Result<void> HeldTree::remove_all(const std::string& path) const {
    const auto folder = open_parent(path);
    if (is_not_found(folder)) return {};
    TRY_VOID(folder);
    return remove_below(folder->get(), base_name(path), DeepestFolder);
}

Result<void> HeldTree::remove_contents(const std::string& path) const {
    TRY(const FileHandle folder, open_below(path, O_RDONLY | O_DIRECTORY));
    return remove_inside(folder.get(), path, DeepestFolder);
}

Result<HeldSource> hold_socket(const std::string& path) {
    FileHandle descriptor(::open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct stat status;
    if (!descriptor.is_open() || ::fstat(descriptor.get(), &status) != 0) return tree_error("opening " + path);
    if (!S_ISSOCK(status.st_mode)) return Error(Reason::Forbidden, path + " is not a socket");
    return HeldSource(std::move(descriptor), false);
}

}  // namespace porthole::winhost
