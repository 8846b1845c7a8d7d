#pragma once
#include <cstdint>

#include "base/result.h"

namespace porthole::cmd {

/// Whether this program is built for Windows.
extern const bool KubeletOnWindows;

/// Windows: this process's priority from now on. Linux leaves it to the nice value. Error: Io.
Result<void> set_priority_class(std::uint32_t priority_class);

}  // namespace porthole::cmd
