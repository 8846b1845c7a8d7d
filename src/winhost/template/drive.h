#pragma once
#include <string>

#include "runtime/files/file_system.h"

namespace porthole::winhost {

/// C:\ of a host or container, below its root file system.
inline constexpr const char* Drive = "wine/drive_c";
inline std::string drive_of(const std::string& rootfs) { return join_path(rootfs, Drive); }

}  // namespace porthole::winhost
