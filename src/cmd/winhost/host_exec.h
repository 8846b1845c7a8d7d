#pragma once
#include <string>

namespace porthole::cmd {

/// Runs a program on the emulated host whose init listens on `socket`, with our own standard streams; `spec` is a ProgramSpec. Returns its
/// exit code; 126 if it could not be started, 125 if there is no host, each with a line on standard error.
int exec_on_host(const std::string& socket, const std::string& spec);

}  // namespace porthole::cmd
