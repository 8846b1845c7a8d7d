#pragma once
#include <string>
#include <vector>

#include "provision/machine.h"
#include "provision/transport.h"

/// Where the program is on a Linux machine; a macro, because scripts are constants that contain it.
#define PORTHOLE_PROGRAM "/usr/local/bin/porthole"

namespace porthole::provision {

/// A Linux machine, for commands of root. A user other than root becomes root, without being asked for a password. The machine ends each
/// command itself after its limit: one that went on after its connection could come between the commands that follow. Used by one task at
/// a time; `transport` must outlive it.
///
/// Errors: those of Transport; Timeout; and Io with `what` and the machine's output.
class LinuxHost {
public:
    static constexpr Duration Short = std::chrono::minutes(1), Long = std::chrono::minutes(5);

    LinuxHost(Transport& transport, SshTarget target) : transport_(transport), target_(std::move(target)) {}

    /// What the command printed.
    Task<std::string> as_root(std::string what, std::vector<std::string> words, std::string input, Duration limit);
    /// What a script of sh printed, whose $1, $2 and so on are `arguments`.
    Task<std::string> script(std::string what, const char* text, std::vector<std::string> arguments, Duration limit,
                             std::string input = "");
    Task<> quiet(std::string what, const char* text, std::vector<std::string> arguments, Duration limit, std::string input = "");
    /// Copies the payload to PORTHOLE_PROGRAM.new, and checks that it can run there.
    Task<> upload(Payload payload);

private:
    Transport& transport_;
    const SshTarget target_;
};

}  // namespace porthole::provision
