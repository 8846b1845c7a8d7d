#include <fcntl.h>
#include <linux/magic.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <thread>

#include "hns/emulator/data_plane/linux/network_namespace.h"
#include "runtime/processes/user_namespace.h"

namespace porthole::hns::emulator {

namespace {

Error failure(const std::string& what) { return Error(Reason::Io, what + ": " + std::strerror(errno)); }

Result<void> raise_loopback() {
    const int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (socket < 0) return failure("socket");
    ifreq request{};
    std::strncpy(request.ifr_name, "lo", sizeof request.ifr_name);
    request.ifr_flags = IFF_UP;
    const bool raised = ::ioctl(socket, SIOCSIFFLAGS, &request) == 0;
    const int code = errno;
    ::close(socket);
    errno = code;
    if (!raised) return failure("raising lo");
    return {};
}

/// On a thread made for it, which ends in the new namespace.
Result<void> make_and_mount(const std::string& path) {
    if (::unshare(CLONE_NEWNET) != 0) return failure("new network namespace");
    TRY_VOID(raise_loopback());
    if (::mount("/proc/thread-self/ns/net", path.c_str(), "none", MS_BIND, nullptr) != 0) return failure("mounting on " + path);
    return {};
}

Result<void> enter_and_call(const std::string& path, const std::function<void()>& work) {
    const int target = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (target < 0) return failure("opening network namespace " + path);
    const bool entered = ::setns(target, CLONE_NEWNET) == 0;
    const int code = errno;
    ::close(target);
    errno = code;
    if (!entered) return failure("entering network namespace " + path);
    work();
    return {};
}

}  // namespace

bool is_network_namespace(const std::string& path) {
    struct statfs found{};
    return ::statfs(path.c_str(), &found) == 0 && found.f_type == NSFS_MAGIC;
}

Result<void> ensure_network_namespace(const std::string& path) {
    if (is_network_namespace(path)) return {};
    std::error_code ignored;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
    const int file = ::open(path.c_str(), O_RDONLY | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0) return failure("creating " + path);
    ::close(file);
    TRY(const auto users, UserNamespace::owner_of("/proc/thread-self/ns/net"));
    Result<void> made = Error();
    if (users)
        made = users->make_network_namespace(path);
    else
        std::thread([&] { made = make_and_mount(path); }).join();
    if (!made) ::unlink(path.c_str());
    return made;
}

Result<void> in_network_namespace(const std::string& path, const std::function<void()>& work) {
    Result<void> done = Error();
    std::thread([&] { done = enter_and_call(path, work); }).join();
    return done;
}

Result<void> remove_network_namespace(const std::string& path) {
    while (is_network_namespace(path)) {
        if (::umount2(path.c_str(), MNT_DETACH) != 0) return failure("unmounting " + path);
    }
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) return failure("removing " + path);
    return {};
}

}  // namespace porthole::hns::emulator
