#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

/// The mounts of the calling thread's mount namespace. Linux only.
namespace porthole {

/// The mount points of a /proc/PID/mountinfo text, oldest mount first, with its escapes (a blank is \040) undone.
std::vector<std::string> parse_mount_points(std::string_view mountinfo);

/// Those of the calling thread. Error: Io.
Result<std::vector<std::string>> mount_points();

/// Those of `points` that are `folder` or below it, newest first: in this order nothing is busy because of what is mounted over it.
std::vector<std::string> mounts_in(const std::vector<std::string>& points, const std::string& folder);

/// The mounts of the calling thread at or below `folder`, whose path may have links, newest first. Error: Io.
Result<std::vector<std::string>> mounts_below(const std::string& folder);

/// Unmounts all that is mounted at or below `folder`, newest first; what is still in use leaves the tree at once and ends with its last
/// user. Continues after a failure. Error: Io, of the first mount that remains.
Result<void> unmount_below(const std::string& folder);

}  // namespace porthole
