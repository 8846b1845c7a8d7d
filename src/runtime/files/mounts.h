#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

/// The mounts of the calling thread's mount namespace. Linux only.
namespace porthole {

/// The mount points of a /proc/PID/mountinfo text, oldest mount first, with its escapes (a blank is \040) undone.
std::vector<std::string> parse_mount_points(std::string_view mountinfo);

/// The mount points that the calling thread sees. Error: Io.
Result<std::vector<std::string>> mount_points();

/// Those of `points` that are `folder` or below it, newest first: in this order none is busy because of a mount on top of it.
std::vector<std::string> mounts_in(const std::vector<std::string>& points, const std::string& folder);

/// The mounts at or below `folder` that the calling thread sees, newest first. The path may contain links. Error: Io.
Result<std::vector<std::string>> mounts_below(const std::string& folder);

/// Unmounts everything at or below `folder`, newest first; a mount in use leaves the tree immediately and ends with its last user.
/// Continues after a failure. Error: Io, of the first mount that remains.
Result<void> unmount_below(const std::string& folder);

}  // namespace porthole
