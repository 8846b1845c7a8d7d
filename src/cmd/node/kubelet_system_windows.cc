#include <windows.h>

#include "cmd/node/kubelet_system.h"

namespace porthole::cmd {

const bool KubeletOnWindows = true;

KubeletSystem make_kubelet_system(FileSystem& files, ProcessRunner&) {
    KubeletSystem system;
    system.mounter = kubelet::make_plain_mounter(files);
    system.cgroups = std::make_unique<kubelet::NoCgroups>();
    return system;
}

Result<void> set_priority_class(std::uint32_t priority_class) {
    if (::SetPriorityClass(::GetCurrentProcess(), priority_class)) return {};
    return Error(Reason::Io, "the process's priority cannot be set: error " + std::to_string(::GetLastError()));
}

}  // namespace porthole::cmd
