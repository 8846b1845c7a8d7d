#pragma once
#include <string>

namespace porthole::cmd {

/// Prints the pods of the container runtime that listens on `socket`: a line for each sandbox and each container. Returns the exit code.
int print_pods(const std::string& socket);

}  // namespace porthole::cmd
