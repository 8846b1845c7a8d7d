#pragma once
#include <memory>
#include <optional>
#include <string>

#include "provision/transport.h"

namespace porthole::provision {

/// What a machine gets: a file of this machine, told by its SHA-256 in lower-case hex. For Linux the program, for Windows the zip.
struct Payload {
    std::string file, sha256;
};

/// What a machine says of itself. Texts are what it says, to be compared only.
struct MachineFacts {
    std::string program_sha256;  ///< of the payload that was put there last; "" for none
    std::string server;          ///< of the cluster that it has joined; "" for none
    bool is_agent_running = false;
    bool has_previous = false;  ///< an upgrade was not finished
};

/// What `join` is told.
struct JoinOrder {
    std::string server, token, ca_hash;
};

/// One machine, in the words of its system. Every operation may be repeated after a failure. Used by one task at a time; `transport`
/// must outlive it.
///
/// Errors: those of Transport, BadRequest for a machine that cannot be a node, with the remedy, and Io with what the machine printed.
class Machine {
public:
    virtual ~Machine() = default;
    /// Changes nothing. Error: BadRequest, with the remedy, when it cannot become a node.
    virtual Task<MachineFacts> ask() = 0;
    /// Copies the payload next to what runs, and sees that it can run there.
    virtual Task<> upload(Payload payload) = 0;
    /// Puts what was uploaded into its place; with `keep`, what was there can be put back by roll_back().
    virtual Task<> place(bool keep) = 0;
    /// Also starts the agent, now and with the machine.
    virtual Task<> join(JoinOrder order) = 0;
    virtual Task<> stop() = 0;
    virtual Task<> start() = 0;
    virtual Task<> roll_back() = 0;
    /// Forgets what roll_back() would put back.
    virtual Task<> forget_previous() = 0;
    /// Leaves the cluster and deletes what upload() and place() have made.
    virtual Task<> remove() = 0;
};

std::unique_ptr<Machine> make_linux_machine(Transport& transport, MachineDescription description);
std::unique_ptr<Machine> make_windows_machine(Transport& transport, MachineDescription description);

/// Of the description's system.
inline std::unique_ptr<Machine> make_machine(Transport& transport, const MachineDescription& description) {
    return description.is_windows ? make_windows_machine(transport, description) : make_linux_machine(transport, description);
}

}  // namespace porthole::provision
