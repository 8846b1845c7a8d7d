#pragma once
#include <memory>

#include "csi_proxy/host.h"
#include "runtime/files/file_system.h"

namespace porthole::winhost {

/// What the CSI proxy of an emulated host does with files: on Linux, in the host's root file system `root`, because Wine makes no links.
/// Links are relative, so that the host's programs and its containers' mounts follow them too. `files` outlives it.
std::unique_ptr<csi_proxy::Files> make_csi_files(FileSystem& files, std::string root);

}  // namespace porthole::winhost
