#pragma once
#include <cstdint>
#include <memory>

#include "kubelet/container/cgroups.h"
#include "kubelet/volumes/mounter.h"

namespace porthole::cmd {

/// What a kubelet asks of the operating system it runs on.
struct KubeletSystem {
    bool windows = false;
    std::unique_ptr<FileSystem> files;
    std::unique_ptr<kubelet::Mounter> mounter;
    std::unique_ptr<kubelet::Cgroups> cgroups;
};
KubeletSystem make_kubelet_system();

/// Windows: this process's priority from now on. Linux leaves it to the nice value. Error: Io.
Result<void> set_priority_class(std::uint32_t priority_class);

}  // namespace porthole::cmd
