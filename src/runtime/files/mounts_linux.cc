#include <sys/mount.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <ranges>
#include <sstream>

#include "runtime/files/durable_file.h"
#include "runtime/files/mounts.h"

namespace porthole {
namespace {

constexpr int PointField = 5;  // of a line of mountinfo, counted from 1; see proc(5)

bool is_octal(char c) { return c >= '0' && c <= '7'; }

/// mountinfo writes blanks, tabs, line ends and backslashes as \ooo.
std::string unescape_mount_point(std::string_view text) {
    std::string plain;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '\\' && i + 3 < text.size() && std::ranges::all_of(text.substr(i + 1, 3), is_octal)) {
            plain.push_back(static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0')));
            i += 3;
        } else {
            plain.push_back(text[i]);
        }
    }
    return plain;
}

}  // namespace

std::vector<std::string> parse_mount_points(std::string_view mountinfo) {
    std::vector<std::string> points;
    std::istringstream lines{std::string(mountinfo)};
    for (std::string line; std::getline(lines, line);) {
        std::istringstream fields(line);
        std::string field;
        for (int i = 0; i < PointField; ++i) fields >> field;
        if (fields) points.push_back(unescape_mount_point(field));
    }
    return points;
}

Result<std::vector<std::string>> mount_points() {
    TRY(const std::string text, read_file("/proc/thread-self/mountinfo"));
    return parse_mount_points(text);
}

std::vector<std::string> mounts_in(const std::vector<std::string>& points, const std::string& folder) {
    std::vector<std::string> found;
    for (const std::string& point : points | std::views::reverse) {
        if (point == folder || point.starts_with(folder + "/")) found.push_back(point);
    }
    return found;
}

Result<std::vector<std::string>> mounts_below(const std::string& folder) {
    TRY(const auto points, mount_points());
    // The kernel names mount points without links; a folder that is not there has no mounts.
    const std::unique_ptr<char, void (*)(void*)> real(::realpath(folder.c_str(), nullptr), &std::free);
    if (!real && errno != ENOENT) return Error(Reason::Io, "resolve " + folder + ": " + std::strerror(errno));
    return real ? mounts_in(points, real.get()) : std::vector<std::string>();
}

Result<void> unmount_below(const std::string& folder) {
    TRY(const auto points, mounts_below(folder));
    Result<void> result;
    for (const std::string& point : points) {
        if (::umount2(point.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW) == 0 || errno == EINVAL || errno == ENOENT) continue;
        if (result) result = Error(Reason::Io, "unmounting " + point + ": " + std::strerror(errno));
    }
    return result;
}

}  // namespace porthole
