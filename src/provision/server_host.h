#pragma once
#include <map>
#include <string>

#include "provision/admin_credentials.h"
#include "provision/linux_host.h"
#include "provision/server_paths.h"

namespace porthole::provision {

/// What a server is started with, in addition to its program: texts by the names of their files.
using ServerFiles = std::map<std::string, std::string>;

/// Their names, with the file of each and its text: equal for equal files. As ServerFacts::files_sha256.
std::string digest_of(const ServerFiles& files);

/// A machine's own report. The texts are untrusted, and only compared.
struct ServerFacts {
    std::string cluster;   ///< of the server that `provision` has set up there; "" for none
    std::string networks;  ///< of that cluster, see ControlPlaneDescription
    std::string program_sha256, files_sha256;
    bool is_running = false;
    bool has_previous = false;  ///< an upgrade was not finished
};

/// A machine that runs `porthole server` as the service porthole-server: program, a directory with the server's files, and its data
/// directory. Every operation may be repeated after a failure. Used by one task at a time; `transport` must outlive it.
///
/// Errors: those of LinuxHost, and BadRequest or Conflict with the remedy for a machine that cannot be a server.
class ServerHost {
public:
    ServerHost(Transport& transport, SshTarget target) : host_(transport, std::move(target)) {}

    /// Changes nothing.
    Task<ServerFacts> ask();
    /// Reserves the machine for a run that is named `holder`, for a minute; repeated, longer. Error: AlreadyExists with the other holder.
    Task<> hold(std::string holder);
    Task<> release(std::string holder);
    /// Copies program and files next to those in use. Both are readable only by root, except for the program.
    Task<> upload(Payload program, ServerFiles files);
    /// The same of the files alone: place() then leaves the program as it is.
    Task<> upload_files(ServerFiles files);
    /// Puts what was uploaded into its place; with `keep`, roll_back() can restore what was there.
    Task<> place(bool keep);
    /// Starts what was placed, now and whenever the machine starts.
    Task<> start();
    Task<> stop();
    /// Restores what place() has kept, and starts it.
    Task<> roll_back();
    Task<> forget_previous();
    /// Deletes all that a server has here, its data directory as well.
    Task<> remove();
    /// Error: Io until the server has created them.
    Task<AdminCredentials> credentials();
    /// How often it has been started again after it ended by itself, and the last line of its log.
    struct Ends {
        int count = 0;
        std::string last_words;
    };
    Task<Ends> ends();

private:
    LinuxHost host_;
};

}  // namespace porthole::provision
