#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "schema/value.h"

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

/// The machines of all pools that name hosts; other pools are for `up`. Error: BadRequest with the field.
Result<std::vector<MachineDescription>> read_machines(std::string_view yaml, const DescriptionPlace& place);

/// From a description's file, with the user's HOME. Errors: also those of reading it; all name the file.
Result<std::vector<MachineDescription>> read_machines_file(const std::string& file);

/// One machine as a pool of one host, and the reverse with the same checks: the inventory's form.
schema::Value to_pool(const MachineDescription& machine);
Result<MachineDescription> from_pool(const schema::Value& pool);

}  // namespace porthole::provision
