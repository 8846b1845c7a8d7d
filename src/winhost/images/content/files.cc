#include "winhost/images/content/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>
#include <system_error>

namespace porthole::winhost {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t StatBlock = 512;

Reason reason_of(int code) {
    switch (code) {
        case ENOENT:
            return Reason::NotFound;
        case EEXIST:
            return Reason::AlreadyExists;
        case EACCES:
        case EPERM:
            return Reason::Forbidden;
        default:
            return Reason::Io;
    }
}

Error error_of_code(std::string_view doing, const std::string& path, int code) {
    return Error(reason_of(code), std::string(doing) + " " + path + ": " + std::generic_category().message(code));
}

}  // namespace

FileDescriptor::~FileDescriptor() {
    if (fd_ >= 0) ::close(fd_);
}

Error io_error(std::string_view doing, const std::string& path) { return error_of_code(doing, path, errno); }

Result<void> write_all(int fd, std::string_view bytes, const std::string& path) {
    while (!bytes.empty()) {
        const ssize_t written = ::write(fd, bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return io_error("writing", path);
        bytes.remove_prefix(static_cast<std::size_t>(written));
    }
    return {};
}

Result<void> write_file_atomically(const std::string& path, std::string_view contents) {
    const std::string fresh = path + ".new";
    FileDescriptor file(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (!file) return io_error("making", fresh);
    auto written = write_all(file.get(), contents, fresh);
    if (written && ::fsync(file.get()) != 0) written = io_error("writing", fresh);
    if (written && ::rename(fresh.c_str(), path.c_str()) != 0) written = io_error("replacing", path);
    if (!written) {
        ::unlink(fresh.c_str());
        return written;
    }
    const FileDescriptor folder(::open(fs::path(path).parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (folder) ::fsync(folder.get());
    return {};
}

Result<void> make_folders(const std::string& path) {
    std::error_code error;
    fs::create_directories(path, error);
    if (error) return error_of_code("making", path, error.value());
    return {};
}

Result<void> remove_tree(const std::string& path) {
    std::error_code error;
    fs::remove_all(path, error);
    if (error) return error_of_code("removing", path, error.value());
    return {};
}

TreeUsage measure_tree(const std::string& path) {
    TreeUsage usage;
    std::set<std::pair<dev_t, ino_t>> linked;
    std::error_code error;
    const auto options = fs::directory_options::skip_permission_denied;
    for (fs::recursive_directory_iterator at(path, options, error), end; !error && at != end; at.increment(error)) {
        struct stat status{};
        if (::lstat(at->path().c_str(), &status) != 0) continue;
        if (status.st_nlink > 1 && !S_ISDIR(status.st_mode) && !linked.emplace(status.st_dev, status.st_ino).second) continue;
        usage.bytes += static_cast<std::uint64_t>(status.st_blocks) * StatBlock;
        ++usage.inodes;
    }
    return usage;
}

}  // namespace porthole::winhost
