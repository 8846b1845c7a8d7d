#pragma once
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "runtime/event_loop.h"

namespace porthole::node_join {

/// What every server of a cluster must have: its authorities, the key that signs service accounts' tokens, both with the state of their
/// rotation, and the key of encryption at rest. A plain value. Certificates that a server shows or uses are its own.
struct SharedSecrets {
    using Texts = std::map<std::string, std::string>;

    std::string cluster;  ///< 32 hex digits, chosen at random when they were made
    Texts files;     ///< texts by path below the data directory: "pki/ca.key". Without encryption.yaml: who starts servers hands it out
    Texts settings;  ///< values of flags that servers must agree on, by name
    std::int64_t generation = 1;  ///< one more with each change

    /// New authorities and a new key. `encryption` is encryption.yaml; "" for none.
    static SharedSecrets make(std::string encryption, SystemTime now);
    /// JSON.
    std::string text() const;
    /// Errors: BadRequest for what is not such a text, or misses what servers cannot do without; Conflict for one of a newer version.
    static Result<SharedSecrets> parse(std::string_view text);
    /// Tells whether two have the same files.
    std::string digest() const;

    bool operator==(const SharedSecrets&) const = default;
};

// Short blocking calls, on a data directory.

/// The files of a data directory; nullopt where it has no authority yet. `cluster` and `settings` stay empty. Errors: Io; Conflict where
/// files are missing or do not belong together, which passes when another program is about to change them.
Result<std::optional<SharedSecrets>> read_shared_files(const std::filesystem::path& data);
/// Makes the files of the data directory those of `secrets`, as the programs that made them would have: the certificate of the authority
/// last, so that after a crash a first start is one again. Error: Io.
Result<void> write_shared_files(const std::filesystem::path& data, const SharedSecrets& secrets);

/// That a data directory's server shares its secrets, and what they were when all servers had the same. A plain value.
struct SharedMark {
    std::string cluster, digest;
    std::int64_t generation = 1;
};
/// nullopt where they are not shared. Errors: Io, BadRequest.
Result<std::optional<SharedMark>> read_shared_mark(const std::filesystem::path& data);
Result<void> write_shared_mark(const std::filesystem::path& data, const SharedMark& mark);
/// The server is on its own again, if it was not.
Result<void> remove_shared_mark(const std::filesystem::path& data);

}  // namespace porthole::node_join
