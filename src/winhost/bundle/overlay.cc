#include "winhost/bundle/overlay.h"

#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "runtime/files/mounts.h"

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

bool is_mounted(const std::string& target) {
    const auto points = mount_points();
    return points && std::ranges::find(*points, target) != points->end();
}

}  // namespace porthole::winhost
