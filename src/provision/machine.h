#pragma once
#include <memory>
#include <optional>
#include <string>

#include "provision/transport.h"

namespace porthole::provision {

/// The file that a machine receives, identified by its SHA-256 in lower-case hex. For Linux the program, for Windows the zip.
struct Payload {
    std::string file, sha256;
};

/// A machine's own report. The texts are untrusted, and only compared.
struct MachineFacts {
    std::string program_sha256;  ///< of the payload that was put there last; "" for none
    std::string server;          ///< of its cluster, or several, separated by commas; "" for none
    bool is_agent_running = false;
    bool has_previous = false;  ///< an upgrade was not finished
};

/// The arguments of `join`; `server` may be several, separated by commas.
struct JoinOrder {
    std::string server, token, ca_hash;
};

/// One machine, with the commands of its system. Every operation may be repeated after a failure. Used by one task at a time; `transport`
/// must outlive it.
///
/// Errors: those of Transport, BadRequest with the remedy for a machine that cannot be a node, and Io with the machine's output.
class Machine {
public:
    virtual ~Machine() = default;
    /// Changes nothing. Error: BadRequest with the remedy, if it cannot become a node.
    virtual Task<MachineFacts> ask() = 0;
    /// Copies the payload next to the running program, and checks that it can run there.
    virtual Task<> upload(Payload payload) = 0;
    /// Installs the uploaded payload; with `keep`, roll_back() can restore the previous one.
    virtual Task<> place(bool keep) = 0;
    /// Also starts the agent, now and with the machine.
    virtual Task<> join(JoinOrder order) = 0;
    virtual Task<> stop() = 0;
    virtual Task<> start() = 0;
    virtual Task<> roll_back() = 0;
    /// Deletes what roll_back() would restore.
    virtual Task<> forget_previous() = 0;
    /// Leaves the cluster and deletes what upload() and place() have created.
    virtual Task<> remove() = 0;
};

std::unique_ptr<Machine> make_linux_machine(Transport& transport, MachineDescription description);
std::unique_ptr<Machine> make_windows_machine(Transport& transport, MachineDescription description);

/// Of the description's system.
inline std::unique_ptr<Machine> make_machine(Transport& transport, const MachineDescription& description) {
    return description.is_windows ? make_windows_machine(transport, description) : make_linux_machine(transport, description);
}

}  // namespace porthole::provision
