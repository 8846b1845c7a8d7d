#pragma once
#include <cstdint>
#include <functional>
#include <memory>

#include "kubelet/container/cgroups.h"
#include "kubelet/volumes/framework/mounter.h"
#include "kubelet/volumes/local_volume/image_disks.h"

namespace porthole::cmd {

/// The operating system's part of a kubelet.
struct KubeletSystem {
    std::unique_ptr<kubelet::Mounter> mounter;
    std::unique_ptr<kubelet::ImageDisks> image_disks;  ///< null on Windows
    std::unique_ptr<kubelet::Cgroups> cgroups;
};
/// `files` and `processes` must outlive it.
KubeletSystem make_kubelet_system(FileSystem& files, ProcessRunner& processes);
/// Whether this program is built for Windows.
extern const bool KubeletOnWindows;

/// Windows: returns whether a CSI proxy serves on this host, without connecting to it. Null on Linux.
std::function<bool()> csi_proxy_look();

/// Windows: this process's priority from now on. Linux leaves it to the nice value. Error: Io.
Result<void> set_priority_class(std::uint32_t priority_class);

}  // namespace porthole::cmd
