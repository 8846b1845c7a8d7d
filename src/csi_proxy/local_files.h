#pragma once
#include <memory>

#include "csi_proxy/host.h"
#include "csi_proxy/path_rules.h"
#include "runtime/files/file_system.h"

namespace porthole::csi_proxy {

/// Files of the host's own file system, which outlives it, as do the rules. A link may be on the path to one of the allowed directories,
/// but not below. A change by a container between the check and the operation is not detected; Windows has no call for that.
std::unique_ptr<Files> make_local_files(FileSystem& files, const PathRules& rules);

}  // namespace porthole::csi_proxy
