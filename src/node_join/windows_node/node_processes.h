#pragma once
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace porthole::node_join {

/// Whether a program of this name ("kubelet.exe") runs anywhere on the machine. Under Wine, hard links of one file are not distinguished.
bool is_running(const std::string& program);
/// Starts a program without a console that outlives this one; output other than its own log is written to `output`. Returns a function that
/// tells whether it still runs. Error: Io, NotFound.
Result<std::function<bool()>> start_detached(const std::vector<std::string>& command, const std::string& output);

}  // namespace porthole::node_join
