#include "cmd/node/kubelet_system.h"

namespace porthole::cmd {

KubeletSystem make_kubelet_system() {
    KubeletSystem system;
    system.files = make_file_system();
    system.mounter = kubelet::make_mounter();
    system.cgroups = std::make_unique<kubelet::CgroupFiles>(*system.files);
    return system;
}

Result<void> set_priority_class(std::uint32_t) { return {}; }

}  // namespace porthole::cmd
