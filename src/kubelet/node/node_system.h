#pragma once
#include <functional>
#include <memory>

#include "kubelet/container/cgroups.h"
#include "kubelet/node/host.h"
#include "kubelet/volumes/framework/mounter.h"
#include "kubelet/volumes/local_volume/image_disks.h"

namespace porthole::kubelet {

/// What differs between operating systems in a kubelet, in addition to files and processes.
struct NodeSystem {
    std::unique_ptr<Host> host;
    std::unique_ptr<Mounter> mounter;
    std::unique_ptr<Cgroups> cgroups;
    std::unique_ptr<ImageDisks> image_disks = {};   ///< null: the size of local volumes is not enforced
    std::function<bool()> has_csi_proxy = nullptr;  ///< Windows: whether a CSI proxy serves here, without connecting to it; null elsewhere
};

/// That of the machine the program runs on. `files` and `processes` outlive it.
NodeSystem make_node_system(FileSystem& files, ProcessRunner& processes);

}  // namespace porthole::kubelet
