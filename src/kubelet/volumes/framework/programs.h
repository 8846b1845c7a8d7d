#pragma once
#include <string>
#include <vector>

#include "runtime/processes/process.h"

namespace porthole::kubelet {

/// Runs a program of the node, for at most ten minutes, and yields its output. Error: Io unless it ends with 0 or one of `also`.
Task<CommandOutput> run_program(std::vector<std::string> words, std::vector<int> also, ProcessRunner& programs);

/// Runs `mount` with these arguments. Error: Io with upstream's message.
Task<> run_mount(std::vector<std::string> words, ProcessRunner& programs);

}  // namespace porthole::kubelet
