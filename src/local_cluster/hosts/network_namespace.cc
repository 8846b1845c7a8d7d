#include "local_cluster/hosts/network_namespace.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>

namespace porthole::local_cluster {
namespace {

namespace fs = std::filesystem;

std::uint64_t number_of(const fs::path& path) {
    struct stat found{};
    return ::stat(path.c_str(), &found) == 0 ? found.st_ino : 0;
}

std::optional<fs::path> find_namespace(std::uint64_t number) {
    std::error_code error;
    for (const auto& name : fs::directory_iterator("/run/netns", error)) {
        if (number_of(name.path()) == number) return name.path();
    }
    for (const auto& process : fs::directory_iterator("/proc", error)) {
        if (number_of(process.path() / "ns/net") == number) return process.path() / "ns/net";
    }
    return std::nullopt;
}

}  // namespace

std::uint64_t own_network_namespace() { return number_of("/proc/thread-self/ns/net"); }

Result<void> enter_network_namespace(std::uint64_t number) {
    if (number == 0) return {};
    const auto path = find_namespace(number);
    if (!path) return {};
    const int file = ::open(path->c_str(), O_RDONLY | O_CLOEXEC);
    const bool entered = file >= 0 && ::setns(file, CLONE_NEWNET) == 0;
    const std::string why = std::strerror(errno);
    if (file >= 0) ::close(file);
    if (!entered) return Error(Reason::Io, "entering the network namespace " + path->string() + ": " + why);
    return {};
}

}  // namespace porthole::local_cluster
