#include "kubelet/node/node_system.h"

namespace porthole::kubelet {

NodeSystem make_node_system(FileSystem& files, ProcessRunner& processes) {
    return {.host = make_host(files),
            .mounter = make_mounter(),
            .cgroups = std::make_unique<CgroupFiles>(files),
            .image_disks = make_image_disks(processes)};
}

}  // namespace porthole::kubelet
