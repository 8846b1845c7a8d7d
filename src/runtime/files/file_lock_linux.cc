#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/strings.h"
#include "runtime/files/durable_file.h"
#include "runtime/files/file_lock.h"

namespace porthole {
namespace {

Error io_error(const std::string& what) { return Error(Reason::Io, what + ": " + std::strerror(errno)); }

}  // namespace

Result<std::optional<FileLock>> FileLock::take(const std::string& path, int operation) {
    const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0) return io_error("opening " + path);
    FileLock lock(fd);
    while (::flock(fd, operation) != 0) {
        if (errno == EWOULDBLOCK) return std::nullopt;
        if (errno != EINTR) return io_error("locking " + path);
    }
    return lock;
}

Result<std::optional<FileLock>> FileLock::try_take(const std::string& path) { return take(path, LOCK_EX | LOCK_NB); }

Result<FileLock> FileLock::take(const std::string& path) {
    TRY(auto lock, take(path, LOCK_EX));
    return *std::move(lock);
}

FileLock::~FileLock() {
    if (fd_ >= 0) ::close(fd_);
}

Result<void> FileLock::write_holder() const {
    const std::string pid = std::to_string(::getpid()) + "\n";
    if (::ftruncate(fd_, 0) != 0 || ::pwrite(fd_, pid.data(), pid.size(), 0) < 0) return io_error("writing the lock's file");
    return {};
}

std::string FileLock::read_holder(const std::string& path) {
    const std::string pid(trim(read_file(path).value_or("")));
    return pid.empty() ? "another process" : "process " + pid;
}

}  // namespace porthole
