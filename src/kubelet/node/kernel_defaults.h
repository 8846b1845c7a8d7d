#pragma once
#include "runtime/files/file_system.h"

namespace porthole::kubelet {

/// Checks that the kernel's settings are those that Kubernetes' kubelet would set. This kubelet sets none itself, so that other programs on
/// the machine are not affected. Error: BadRequest with the first that differs.
Result<void> check_kernel_defaults(FileSystem& files);

}  // namespace porthole::kubelet
