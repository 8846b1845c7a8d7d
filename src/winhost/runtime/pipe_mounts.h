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

/// A named pipe of the host that a container can use: both full names, "\\.\pipe\app".
struct PipeMount {
    std::string host_name, container_name;
};

/// The named pipes among a container's mounts. As on Windows, the host's pipe need not exist: opening it then fails. Error: Invalid with
/// Windows' message for mounts that Windows also refuses: a pipe at a file's path, files at a pipe's path, two pipes of one name; and for
/// names that only resemble a pipe's ("\\?\pipe\x").
Result<std::vector<PipeMount>> plan_pipe_mounts(const std::vector<cri::Mount>& mounts);

/// Shows named pipes of the host to a container: runs a half of tools/pipes.cc in each and joins their streams.
class PipeRelay {
public:
    struct Ends {
        std::string container_socket, host_socket;  ///< of the inits
        std::vector<PipeMount> pipes;
    };
    PipeRelay(AsioLoop& loop, Logger log, Ends ends) : loop_(loop), log_(std::move(log)), ends_(std::move(ends)) {}

    /// Runs until either half, or its container, ends; `ready` is set once the pipes in the container are the same as on the host. All
    /// connections end with it. Error: Unavailable if an init does not answer.
    Task<> run(Event& ready);

private:
    using Connection = std::unique_ptr<InitConnection>;
    Task<Connection> start_half(std::string socket, std::string role, std::string PipeMount::* name);
    Task<> carry(InitConnection& from, InitConnection& to, Event& ready, Event& over);
    void read_errors(const std::string& text, Event& ready);
    void tell(std::string_view text);

    AsioLoop& loop_;
    Logger log_;
    Ends ends_;
    int told_ = 0;  ///< lines
};

}  // namespace porthole::winhost
