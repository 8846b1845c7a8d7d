#include "winhost/bundle/overlay.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "runtime/mounts.h"

namespace porthole::winhost {

Result<void> mount_overlay(const std::vector<std::string>& lowers, const std::string& upper, const std::string& work,
                           const std::string& target) {
    std::string options = "lowerdir=";
    for (const std::string& lower : lowers) options += (&lower == &lowers.front() ? "" : ":") + lower;
    options += ",upperdir=" + upper + ",workdir=" + work;
    if (options.size() >= static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)))
        return Error(Reason::Invalid, "an image of " + std::to_string(lowers.size()) +
                                          " layers does not fit into one overlay mount here; a shorter data directory helps");
    if (::mount("overlay", target.c_str(), "overlay", MS_NODEV, options.c_str()) != 0)
        return Error(Reason::Io, "mounting the container's file system at " + target + ": " + std::strerror(errno));
    return {};
}

Result<HeldSource> HeldSource::open(const std::string& root, const std::string& path) {
    const auto failure = [&](const std::string& what, int code) {
        const Reason reason = code == ENOENT ? Reason::NotFound : code == ELOOP || code == EXDEV ? Reason::Forbidden : Reason::Io;
        return Error(reason, "opening " + what + ": " + std::strerror(code));
    };
    if (path != root && !path.starts_with(root + "/")) return Error(Reason::Forbidden, path + " leads out of " + root);
    const std::string below = path.size() > root.size() + 1 ? path.substr(root.size() + 1) : ".";
    const int base = ::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (base < 0) return failure(root, errno);
    open_how how{};
    how.flags = O_PATH | O_CLOEXEC;
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS;
    const int fd = static_cast<int>(::syscall(SYS_openat2, base, below.c_str(), &how, sizeof how));
    const int code = errno;
    ::close(base);
    if (fd < 0) return failure(path, code);
    struct stat status;
    if (::fstat(fd, &status) != 0) {
        const int failed = errno;
        ::close(fd);
        return failure(path, failed);
    }
    return HeldSource(fd, S_ISDIR(status.st_mode));
}

HeldSource::~HeldSource() {
    if (fd_ >= 0) ::close(fd_);
}

std::string HeldSource::path() const { return "/proc/self/fd/" + std::to_string(fd_); }

Result<void> HeldSource::bind_to(const std::string& target) const {
    if (::mount(path().c_str(), target.c_str(), nullptr, MS_BIND | MS_REC, nullptr) == 0) return {};
    return Error(Reason::Io, "binding a mount's source to " + target + ": " + std::strerror(errno));
}

bool is_mounted(const std::string& target) {
    const auto points = mount_points();
    return points && std::ranges::find(*points, target) != points->end();
}

}  // namespace porthole::winhost
