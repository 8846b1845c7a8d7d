#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/task.h"

namespace porthole {

class WorkerPool;

/// A program to run until it exits. `arguments[0]` is looked up in PATH.
struct Command {
    std::vector<std::string> arguments;
    std::map<std::string, std::string> environment;  ///< added to the caller's
    std::string input;                               ///< passed on standard input
    std::string network_namespace;                   ///< path of a network namespace to run in; "" for the caller's
    Duration limit = std::chrono::minutes(2);        ///< the process group is killed after this
};

/// That there is a program, and no text has a zero byte. Systems end a text there: an argument would be cut, and on Windows the rest of a
/// variable's value would be further variables, so that anyone who chooses the value of one chooses the program's search path. BadRequest.
Result<void> check_command(const Command& command);

/// A program's output and exit code.
struct CommandOutput {
    int exit_code = 0;  ///< 128 + signal if a signal ended it
    std::string output, errors;
};

/// The seam for starting programs.
class ProcessRunner {
public:
    virtual ~ProcessRunner() = default;
    /// Errors: NotFound (no such program), Timeout, Io. A non-zero exit is not an error.
    virtual Task<CommandOutput> run(Command command) = 0;
};

/// Starts real programs. One thread of `pool` waits for each until it and all processes that it started have ended: a process group of its
/// own on Linux, a job object on Windows. A cancelled task and an expired limit kill the whole group. At most 8 MiB of each output stream
/// are kept. `pool` must outlive the runner and every run.
std::unique_ptr<ProcessRunner> make_process_runner(WorkerPool& pool);

}  // namespace porthole
