#include "cmd/node/kubelet_system.h"

namespace porthole::cmd {

const bool KubeletOnWindows = false;

KubeletSystem make_kubelet_system(FileSystem& files) {
    KubeletSystem system;
    system.mounter = kubelet::make_mounter();
    system.cgroups = std::make_unique<kubelet::CgroupFiles>(files);
    return system;
}

Result<void> set_priority_class(std::uint32_t) { return {}; }

}  // namespace porthole::cmd
