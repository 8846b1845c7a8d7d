#include "cni/plugin/host_local/host_local.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace porthole::cni {
namespace {

class Flock final : public FileLock {
public:
    explicit Flock(int fd) : fd_(fd) {}
    ~Flock() override { ::close(fd_); }

private:
    int fd_;
};

class Flocks final : public FileLocks {
public:
    Result<std::unique_ptr<FileLock>> lock(const std::string& path) override {
        const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        if (fd < 0) return Error(Reason::Io, "opening " + path + ": " + std::strerror(errno));
        auto held = std::make_unique<Flock>(fd);
        while (::flock(fd, LOCK_EX) != 0) {
            if (errno != EINTR) return Error(Reason::Io, "locking " + path + ": " + std::strerror(errno));
        }
        return held;
    }
};

}  // namespace

std::unique_ptr<FileLocks> make_file_locks() { return std::make_unique<Flocks>(); }

HostLocalOptions default_host_local_options() { return {.data_dir = "/var/lib/cni/networks", .colons = true}; }

}  // namespace porthole::cni
