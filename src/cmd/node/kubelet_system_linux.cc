#include "cmd/node/kubelet_system.h"

namespace porthole::cmd {

const bool KubeletOnWindows = false;

Result<void> set_priority_class(std::uint32_t) { return {}; }

}  // namespace porthole::cmd
