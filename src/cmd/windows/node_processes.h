#pragma once
#include <string>
#include <vector>

#include "base/result.h"

namespace porthole::cmd {

/// Whether a program of this name ("kubelet.exe") runs on the machine, whoever started it.
bool is_running(const std::string& program);
/// Starts a program without a console, to outlive this one; its output beside its own log goes to `output`. Error: Io.
Result<void> start_detached(const std::vector<std::string>& command, const std::string& output);

}  // namespace porthole::cmd
