#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "store/embedded/data_lock.h"

namespace porthole::store {
namespace {

std::string holder_of(int file) {
    char text[32];
    const ssize_t size = ::pread(file, text, sizeof text, 0);
    std::string pid(text, size > 0 ? static_cast<std::size_t>(size) : 0);
    pid.resize(std::min(pid.size(), pid.find('\n')));
    return pid.empty() ? "another process" : "process " + pid;
}

Error io_error(const std::string& what, int code) { return Error(Reason::Io, what + ": " + std::strerror(code)); }

}  // namespace

Result<DataLock> DataLock::acquire(const std::string& directory) {
    std::error_code error;
    if (std::filesystem::create_directories(directory, error)) {
        std::filesystem::permissions(directory, std::filesystem::perms::owner_all, error);
    }
    if (error) return io_error("creating the data directory " + directory, error.value());
    const std::string path = directory + "/lock";
    const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0) return io_error("opening " + path, errno);
    DataLock lock(file);
    if (::flock(file, LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK) return io_error("locking " + path, errno);
        return Error(Reason::Conflict, "the data directory " + directory + " is in use by " + holder_of(file) +
                                           ": stop that first, or choose another directory");
    }
    const std::string pid = std::to_string(::getpid()) + "\n";
    if (::ftruncate(file, 0) != 0 || ::pwrite(file, pid.data(), pid.size(), 0) < 0) {
        return io_error("writing " + path, errno);
    }
    return lock;
}

DataLock::DataLock(DataLock&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
DataLock& DataLock::operator=(DataLock&& other) noexcept {
    std::swap(file_, other.file_);
    return *this;
}
DataLock::~DataLock() {
    if (file_ >= 0) ::close(file_);
}

}  // namespace porthole::store
