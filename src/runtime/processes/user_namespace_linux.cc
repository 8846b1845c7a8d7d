#include <fcntl.h>
#include <linux/nsfs.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <sstream>

#include "runtime/files/durable_file.h"
#include "runtime/processes/user_namespace.h"

namespace porthole {
namespace {

Error failure(const std::string& what, int code = errno) { return Error(Reason::Io, what + ": " + std::strerror(code)); }

/// A process that waits in namespaces of its own until it is destroyed. A process with threads cannot enter a user namespace, and this one
/// shall not.
class Waiting {
public:
    /// `prepare` is called in the new process, a copy of this one without its other threads: system calls only, nothing that allocates or
    /// locks. What it returns, 0 or an errno, is prepared().
    template <typename Prepare>
    Waiting(unsigned long flags, Prepare prepare) {
        if (::pipe2(ends_, O_CLOEXEC) != 0) return;
        const pid_t parent = ::getpid();
        // Without a signal at its end: other code of this process that waits for any child does not collect it.
        pid_ = static_cast<pid_t>(::syscall(SYS_clone, flags, 0, 0, 0, 0));
        if (pid_ != 0) return;
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        const int code = ::getppid() == parent ? prepare() : ESRCH;
        (void)!::write(ends_[1], &code, sizeof code);
        for (;;) ::pause();
    }
    Waiting(const Waiting&) = delete;
    ~Waiting() {
        if (pid_ > 0) {
            ::kill(pid_, SIGKILL);
            while (::waitpid(pid_, nullptr, __WALL) < 0 && errno == EINTR) {
            }
        }
        for (const int end : ends_)
            if (end >= 0) ::close(end);
    }

    bool started() const { return pid_ > 0; }
    int prepared() const {
        int code = EPIPE;
        while (::read(ends_[0], &code, sizeof code) < 0 && errno == EINTR) {
        }
        return code;
    }
    std::string proc(const char* file) const { return "/proc/" + std::to_string(pid_) + "/" + file; }

private:
    int ends_[2] = {-1, -1};
    pid_t pid_ = -1;
};

Result<void> write_at_once(const std::string& path, const std::string& text) {
    const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (file < 0) return failure("opening " + path);
    const bool written = ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
    const int code = errno;
    ::close(file);
    return written ? Result<void>() : failure("writing " + path, code);
}

int raise_loopback() {
    const int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (socket < 0) return errno;
    ifreq request{};
    request.ifr_name[0] = 'l';
    request.ifr_name[1] = 'o';
    request.ifr_flags = IFF_UP;
    const int code = ::ioctl(socket, SIOCSIFFLAGS, &request) == 0 ? 0 : errno;
    ::close(socket);
    return code;
}

bool same_namespace(int one, const char* other) {
    struct stat a{}, b{};
    return ::fstat(one, &a) == 0 && ::stat(other, &b) == 0 && a.st_ino == b.st_ino && a.st_dev == b.st_dev;
}

}  // namespace

Result<UserNamespace> UserNamespace::create(const std::vector<IdRange>& ranges) {
    const Waiting first(CLONE_NEWUSER, [] { return 0; });
    if (!first.started()) return failure("new user namespace");
    std::string map;
    for (const IdRange& range : ranges)
        map += std::to_string(range.inside) + " " + std::to_string(range.outside) + " " + std::to_string(range.count) + "\n";
    TRY_VOID(write_at_once(first.proc("uid_map"), map));
    TRY_VOID(write_at_once(first.proc("gid_map"), map));
    const int fd = ::open(first.proc("ns/user").c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return failure("opening a user namespace");
    return UserNamespace(fd);
}

Result<std::optional<UserNamespace>> UserNamespace::owner_of(const std::string& path) {
    const int network = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (network < 0) return failure("opening " + path);
    const int owner = ::ioctl(network, NS_GET_USERNS);
    const int code = errno;
    ::close(network);
    // EPERM: it belongs to one that this process is inside of.
    if (owner < 0 && code == EPERM) return std::nullopt;
    if (owner < 0) return failure("asking whose " + path + " is", code);
    UserNamespace found(owner);
    if (same_namespace(owner, "/proc/self/ns/user")) return std::nullopt;
    return std::optional<UserNamespace>(std::move(found));
}

UserNamespace::~UserNamespace() {
    if (fd_ >= 0) ::close(fd_);
}

std::string UserNamespace::path() const { return "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(fd_); }

Result<std::uint32_t> UserNamespace::root() const {
    const Waiting inside(0, [fd = fd_] { return ::setns(fd, CLONE_NEWUSER) == 0 ? 0 : errno; });
    if (!inside.started()) return failure("new process");
    if (const int code = inside.prepared(); code != 0) return failure("entering a user namespace", code);
    TRY(const std::string map, read_file(inside.proc("uid_map")));
    std::istringstream lines(map);
    for (IdRange range; lines >> range.inside >> range.outside >> range.count;)
        if (range.inside == 0 && range.count > 0) return range.outside;
    return Error(Reason::Io, "a user namespace without root");
}

Result<void> UserNamespace::make_network_namespace(const std::string& path) const {
    const Waiting inside(0, [fd = fd_] {
        if (::setns(fd, CLONE_NEWUSER) != 0 || ::unshare(CLONE_NEWNET) != 0) return errno;
        return raise_loopback();
    });
    if (!inside.started()) return failure("new process");
    if (const int code = inside.prepared(); code != 0) return failure("new network namespace of a user namespace", code);
    if (::mount(inside.proc("ns/net").c_str(), path.c_str(), "none", MS_BIND, nullptr) == 0) return {};
    return failure("mounting on " + path);
}

}  // namespace porthole
