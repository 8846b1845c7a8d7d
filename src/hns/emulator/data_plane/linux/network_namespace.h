#pragma once
#include <functional>
#include <string>

#include "base/result.h"

namespace porthole::hns::emulator {

// Named network namespaces: a file on which one is mounted keeps it, whether processes are in it or not. Blocking; any thread may call.

/// Makes one whose loopback device is up, of the user namespace to which the caller's own network namespace belongs; success if there is
/// one already. Errors: Io.
Result<void> ensure_network_namespace(const std::string& path);
/// Success if there is none. The namespace itself ends with its last process. Errors: Io.
Result<void> remove_network_namespace(const std::string& path);
/// Calls `work` on a thread of its own that is in the namespace at `path`, and waits for it. Errors: Io, and `work` has not been called.
Result<void> in_network_namespace(const std::string& path, const std::function<void()>& work);
bool is_network_namespace(const std::string& path);

}  // namespace porthole::hns::emulator
