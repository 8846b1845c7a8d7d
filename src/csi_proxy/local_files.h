#pragma once
#include <memory>

#include "csi_proxy/host.h"
#include "runtime/files/file_system.h"

namespace porthole::csi_proxy {

/// Files of the host's own file system, which outlives it. `directory` is the kubelet's, as PathRules has it: a link may be on the way to
/// it, but none below. What a container changes between the look and the deed is not seen; Windows has no call that would.
std::unique_ptr<Files> make_local_files(FileSystem& files, std::string directory);

}  // namespace porthole::csi_proxy
