#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "runtime/files/durable_file.h"

namespace porthole {
namespace {

Error write_error(const char* what, const std::filesystem::path& path) {
    return Error(Reason::Io, std::string(what) + " " + path.string() + ": " + std::strerror(errno));
}

Result<void> write_through(int fd, std::string_view text, const std::filesystem::path& path) {
    while (!text.empty()) {
        const ssize_t count = ::write(fd, text.data(), text.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return write_error("cannot write", path);
        text.remove_prefix(static_cast<std::size_t>(count));
    }
    if (::fsync(fd) != 0) return write_error("cannot write", path);
    return {};
}

/// Until then a crash may bring the old name back.
Result<void> sync_folder(const std::filesystem::path& path) {
    const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
    const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return write_error("cannot open", folder);
    const bool synced = ::fsync(fd) == 0;
    const Error error = write_error("cannot write", folder);
    ::close(fd);
    if (!synced) return error;
    return {};
}

}  // namespace

Result<void> write_durably(const std::filesystem::path& path, const std::string& text, unsigned mode) {
    const std::filesystem::path fresh = path.string() + ".new";
    const int fd = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
    if (fd < 0) return write_error("cannot write", path);
    const Result<void> written = write_through(fd, text, path);
    ::close(fd);
    if (!written) return written;
    if (::rename(fresh.c_str(), path.c_str()) != 0) return write_error("cannot replace", path);
    return sync_folder(path);
}

}  // namespace porthole
