#pragma once
#include <string>

#include "runtime/files/file_system.h"
#include "runtime/processes/process.h"
#include "winhost/bundle/oci_bundle.h"

namespace porthole::winhost {

/// The commands of runc, for containers whose state is below one directory. References must outlive it and its tasks. Errors: Io with
/// runc's message.
class Runc {
public:
    Runc(ProcessRunner& processes, FileSystem& files, std::string state_folder)
        : processes_(processes), files_(files), state_folder_(std::move(state_folder)) {}

    /// Writes `folder`/config.json, and creates and starts the container: its first process.
    Task<int> start(std::string id, std::string folder, OciBundle bundle);
    /// Sends `signal` ("KILL"); success if it has ended.
    Task<> kill(std::string id, std::string signal);
    /// Kills it and deletes its state; success if it is not there.
    Task<> remove(std::string id);
    Task<> update(std::string id, OciLimits limits);

    struct State {
        bool exists = false, running = false;
        int pid = 0;
    };
    Task<State> state(std::string id);
    /// Of all that are there, by id.
    Result<std::vector<std::string>> list();

private:
    Task<CommandOutput> run(std::vector<std::string> arguments, std::string input = "");

    ProcessRunner& processes_;
    FileSystem& files_;
    std::string state_folder_;
};

}  // namespace porthole::winhost
