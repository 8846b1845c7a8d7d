#include "cmd/node/kubelet_system.h"

namespace porthole::cmd {

const bool KubeletOnWindows = false;

KubeletSystem make_kubelet_system(FileSystem& files, ProcessRunner& processes) {
    KubeletSystem system;
    system.mounter = kubelet::make_mounter();
    system.image_disks = kubelet::make_image_disks(processes);
    system.cgroups = std::make_unique<kubelet::CgroupFiles>(files);
    return system;
}

std::function<bool()> csi_proxy_look() { return nullptr; }

Result<void> set_priority_class(std::uint32_t) { return {}; }

}  // namespace porthole::cmd
