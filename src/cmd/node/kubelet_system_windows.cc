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

std::function<bool()> csi_proxy_look() {
    constexpr DWORD Shortest = 1;  // milliseconds; 0 would be the server's own
    return [] { return ::WaitNamedPipeW(L"\\\\.\\pipe\\csi-proxy-filesystem-v1", Shortest) || ::GetLastError() != ERROR_FILE_NOT_FOUND; };
}

Result<void> set_priority_class(std::uint32_t priority_class) {
    if (::SetPriorityClass(::GetCurrentProcess(), priority_class)) return {};
    return Error(Reason::Io, "the process's priority cannot be set: error " + std::to_string(::GetLastError()));
}

}  // namespace porthole::cmd
