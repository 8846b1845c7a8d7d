#pragma once
#include <memory>
#include <string>

#include "csi_proxy/host.h"

namespace porthole::winhost {

/// File operations of an emulated host's CSI proxy: on Linux, in the host's root file system `root`, because Wine cannot create links.
/// Links are relative, so that the host's programs and its containers' mounts follow them too.
std::unique_ptr<csi_proxy::Files> make_csi_files(std::string root);

}  // namespace porthole::winhost
