#pragma once
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace porthole::node_join {

/// Whether a program of this name ("kubelet.exe") runs anywhere on the machine. Under Wine the names of one file, hard links,
/// are not told apart.
bool is_running(const std::string& program);
/// Starts a program without a console, to outlive this one; what it prints in addition to its own log goes to `output`. Yields a function
/// that says whether it still runs. Error: Io, NotFound.
Result<std::function<bool()>> start_detached(const std::vector<std::string>& command, const std::string& output);

}  // namespace porthole::node_join
