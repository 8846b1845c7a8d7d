#include <windows.h>

#include "cmd/node/kubelet_system.h"

namespace porthole::cmd {

const bool KubeletOnWindows = true;

Result<void> set_priority_class(std::uint32_t priority_class) {
    if (::SetPriorityClass(::GetCurrentProcess(), priority_class)) return {};
    return Error(Reason::Io, "the process's priority cannot be set: error " + std::to_string(::GetLastError()));
}

}  // namespace porthole::cmd
