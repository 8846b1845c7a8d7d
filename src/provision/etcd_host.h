#pragma once
#include <map>
#include <string>

#include "provision/linux_host.h"
#include "provision/server_paths.h"

namespace porthole::provision {

/// What a machine's member is started with: texts by the names of their files.
using EtcdFiles = std::map<std::string, std::string>;

/// A machine's own report. The texts are untrusted, and only compared, or used as what signs nothing for anyone else.
struct EtcdFacts {
    std::string files;                         ///< "name SHA-256" of each file that EtcdHost writes, but for certificates, in lines
    std::string authority_sha256;              ///< of ca.crt; "" if there is none
    std::string token_sha256;                  ///< of the server's token
    std::string member_public, client_public;  ///< the keys that the machine has made, as base64 of their DER form
    std::string bootstrap;
    bool has_certificates = false, has_log = false, is_running = false;
    bool serves_objects = false;  ///< a server has opened an etcd
};

/// A machine that runs a member of etcd as the service porthole-etcd, by a user of its own. The machine makes its keys itself. Every
/// operation may be repeated after a failure. Used by one task at a time; `transport` must outlive it.
///
/// Errors: those of LinuxHost; BadRequest or Conflict with the remedy for a machine that cannot run a member.
class EtcdHost {
public:
    EtcdHost(Transport& transport, SshTarget target) : host_(transport, std::move(target)) {}

    /// Changes nothing. `program` is the machine's etcd.
    Task<EtcdFacts> ask(std::string program);
    /// A secret of the machine: the authority's key, or the server's token. Requires: it is there.
    Task<std::string> read(const char* file);
    /// Stops the member, and makes the user, the directories, and the keys that are missing; what they are then, as by ask().
    Task<EtcdFacts> make_keys(std::string program);
    /// Replaces files one by one. What is to be known by its hash comes last.
    Task<> write(std::string name, std::string text);
    /// Starts the member now and whenever the machine starts.
    Task<> start();
    /// Stops it and deletes its data.
    Task<> clear();
    /// Error: Timeout until the member has written the first of its data.
    Task<> wait_for_log();
    /// The last line of its log; "" if that is not known.
    Task<std::string> last_words();

private:
    LinuxHost host_;
};

}  // namespace porthole::provision
