#pragma once
#include <string>
#include <vector>

#include "runtime/processes/process.h"

namespace porthole::winhost {

/// A program to run on the emulated host, as an administrator would.
struct HostCommand {
    std::string command_line;  ///< exact, UTF-8
    /// "C:\\k\\x.exe", instead of a command line: a program without arguments in C:\, whose exit codes have 8 bits, such as a CNI plugin.
    /// It starts in half the time.
    std::string program;
    std::string directory;               ///< "C:\k"; "" for C:\.
    std::vector<std::string> variables;  ///< "NAME=value", added to the host's own
    std::string input;
    Duration limit = std::chrono::minutes(2);  ///< the program is ended after this
};

/// The seam for programs on the emulated host.
class HostPrograms {
public:
    virtual ~HostPrograms() = default;
    /// Errors: NotFound (no such program), Timeout, Unavailable while the host is down. A non-zero exit is not an error.
    virtual Task<CommandOutput> run(HostCommand command) = 0;
};

}  // namespace porthole::winhost
