#pragma once
#include <memory>
#include <string>

#include "provision/machine_description.h"
#include "runtime/processes/process.h"
#include "runtime/task.h"

namespace porthole::provision {

/// The seam to remote machines. Both operations may run for several machines at a time.
///
/// Errors: Unavailable if the machine cannot be reached or refuses the key, Forbidden if its host key is not the known one, each with one
/// line that says what helps; Timeout.
class Transport {
public:
    virtual ~Transport() = default;
    /// Has the login shell of the machine's user run `command`, which the caller has quoted for it. A program that fails is not an error:
    /// its exit code and output are the answer.
    virtual Task<CommandOutput> run(SshTarget target, std::string command, std::string input, Duration limit) = 0;
    /// Copies a local file to a path of letters, digits and ./_- on the machine.
    virtual Task<> copy(SshTarget target, std::string local, std::string remote) = 0;
};

/// Uses OpenSSH's programs `ssh` and `scp`, with keys from the description, the user's agent or the user's own configuration. They never
/// prompt, never accept a new host key and never forward anything. `processes` must outlive it.
std::unique_ptr<Transport> make_ssh_transport(ProcessRunner& processes);

}  // namespace porthole::provision
