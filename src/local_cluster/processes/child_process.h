#pragma once
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "runtime/asio_loop.h"
#include "runtime/task.h"

namespace porthole::local_cluster {

/// A process, distinguished from a later one with the same number by its start time (clock ticks since boot).
struct ProcessId {
    int pid = 0;
    std::uint64_t start_time = 0;
    bool operator==(const ProcessId&) const = default;
};

/// A program to start and leave running.
struct ChildCommand {
    std::vector<std::string> arguments;       ///< arguments[0] is a path or found in PATH
    std::filesystem::path log_file;           ///< standard output and error are appended here
    std::filesystem::path network_namespace;  ///< entered before the program starts; "" for our own
    int inherited_fd = -1;                    ///< kept open in the child as descriptor 3; -1 for none
};

/// Gives the command for each start of a process. Must outlive the task that it returns.
using NextCommand = std::function<Task<ChildCommand>()>;
/// Always the same.
NextCommand always(ChildCommand command);

/// The file of the running program.
std::filesystem::path own_program();

/// Starts a program in its own session, so that it outlives us. Error: Io with what could not be done.
Result<ProcessId> start_child(const ChildCommand& command);
/// The running process `pid`, or start_time 0 when there is none (a zombie does not run).
ProcessId identify(int pid);
bool is_running(const ProcessId& process);
/// When the process was started, by the clock of now. Requires: its start_time.
SystemTime started_at(const ProcessId& process, SystemTime now);
/// Sends `signal` unless the process has ended.
void send_signal(const ProcessId& process, int signal);
/// Waits until `process` has ended, whether or not it is our child. A child is reaped, and the result says how it ended: "exit code 1" or
/// "signal 9"; for another process it is "".
Task<std::string> wait_for_exit(AsioLoop& loop, ProcessId process);
/// SIGTERM, then SIGKILL after `grace`; returns when it has ended.
Task<> stop_process(AsioLoop& loop, ProcessId process, Duration grace);

}  // namespace porthole::local_cluster
