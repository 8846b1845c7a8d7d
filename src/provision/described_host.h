#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace porthole::provision {

/// How to reach a machine by SSH. All words are safe as arguments and option values of OpenSSH's programs.
struct SshTarget {
    std::string address;  ///< a name or an IP address
    std::uint16_t port = 22;
    std::string user;
    std::string identity_file;  ///< absolute; "" for what ssh finds by itself
    std::string known_hosts;    ///< absolute; "" for the user's own file
    bool operator==(const SshTarget&) const = default;
};

/// A host of a pool: a machine that will be the node `name`.
struct MachineDescription {
    std::string name, pool;
    bool is_windows = false;
    SshTarget ssh;
    std::map<std::string, std::string> labels;
    std::vector<std::string> taints;      ///< "key=value:Effect" or "key:Effect"
    std::vector<std::string> join_flags;  ///< further flags of `join`: "--name" or "--name=value"
    bool operator==(const MachineDescription&) const = default;
};

/// The base directory of a description's relative paths, and the value of "~/".
struct DescriptionPlace {
    std::string folder, home;
};

}  // namespace porthole::provision
