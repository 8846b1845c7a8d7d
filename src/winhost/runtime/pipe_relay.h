#pragma once  // private to this folder
#include "base/log.h"
#include "runtime/sync.h"
#include "winhost/runtime/init_connection.h"
#include "winhost/runtime/pipe_mounts.h"

namespace porthole::winhost {

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
