#pragma once
#include <string>
#include <vector>

#include "api/cri_v1.h"
#include "base/log.h"
#include "base/result.h"
#include "runtime/sync.h"
#include "winhost/runtime/init_connection.h"

namespace porthole::winhost {

namespace cri = api::cri::v1;

/// A named pipe of the host that a container is to see: both names whole, "\\.\pipe\app".
struct PipeMount {
    std::string host_name, container_name;
};

/// The named pipes among a container's mounts. As on Windows, it is not checked whether the host has them: a pipe that is not there is not
/// found when it is opened. Error: Invalid in Windows' words for what it does not take either: a pipe at a place for files, files at a
/// pipe's, two pipes under one name; and for names that only look like a pipe's ("\\?\pipe\x").
Result<std::vector<PipeMount>> plan_pipe_mounts(const std::vector<cri::Mount>& mounts);

/// Shows named pipes of the host to a container: runs a half of tools/pipes.cc in each and joins their streams.
class PipeRelay {
public:
    struct Ends {
        std::string container_socket, host_socket;  ///< of the inits
        std::vector<PipeMount> pipes;
    };
    PipeRelay(AsioLoop& loop, Logger log, Ends ends) : loop_(loop), log_(std::move(log)), ends_(std::move(ends)) {}

    /// Runs until either half ends, or its container; `ready` is set once the pipes in the container are as they are on the host.
    /// All connections end with it. Error: Unavailable where an init does not answer.
    Task<> run(Event& ready);

private:
    using Connection = std::unique_ptr<InitConnection>;
    Task<Connection> start_half(std::string socket, std::string role, std::string PipeMount::* name);
    Task<> carry(InitConnection& from, InitConnection& to, Event& ready, Event& over);
    void read_errors(const std::string& text, Event& ready);

    AsioLoop& loop_;
    Logger log_;
    Ends ends_;
};

}  // namespace porthole::winhost
