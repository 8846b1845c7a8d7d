#pragma once
#include <string>

namespace porthole::cmd {

/// Prints what the container runtime that listens on `socket` runs: a line for each pod's infrastructure container (its sandbox) and each
/// worker. Returns the exit code.
int print_pods(const std::string& socket);

}  // namespace porthole::cmd
