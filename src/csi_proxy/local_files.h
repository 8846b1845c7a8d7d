#pragma once
#include <memory>

#include "csi_proxy/host.h"
#include "csi_proxy/path_rules.h"
#include "runtime/files/file_system.h"

namespace porthole::csi_proxy {

/// Files of the host's own file system, which outlives it, as do the rules. A link may be on the way to a directory of theirs, but none
/// below. What a container changes between the look and the deed is not seen; Windows has no call that would.
std::unique_ptr<Files> make_local_files(FileSystem& files, const PathRules& rules);

}  // namespace porthole::csi_proxy
