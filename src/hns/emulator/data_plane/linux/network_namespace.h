#pragma once
#include <functional>
#include <string>

#include "base/result.h"

namespace porthole::hns::emulator {

// Named network namespaces: a file on which one is mounted keeps it alive, with or without processes in it. Blocking; any thread may call.

/// Creates one with its loopback device up, owned by the user namespace that owns the caller's network namespace; success if it already
/// exists. Errors: Io.
Result<void> ensure_network_namespace(const std::string& path);
/// Success if there is none. The namespace itself ends with its last process. Errors: Io.
Result<void> remove_network_namespace(const std::string& path);
/// Calls `work` on a separate thread in the namespace at `path`, and waits for it. Errors: Io; `work` has not been called then.
Result<void> in_network_namespace(const std::string& path, const std::function<void()>& work);
bool is_network_namespace(const std::string& path);

}  // namespace porthole::hns::emulator
