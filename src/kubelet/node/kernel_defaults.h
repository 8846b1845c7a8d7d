#pragma once
#include "runtime/files/file_system.h"

namespace porthole::kubelet {

/// Whether the kernel's settings are those that Kubernetes' kubelet would set. This one sets none itself, so that what else runs on the
/// machine is left alone. Error: BadRequest, naming the first that differs.
Result<void> check_kernel_defaults(FileSystem& files);

}  // namespace porthole::kubelet
