#pragma once
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "runtime/event_loop.h"

namespace porthole::node_join {

/// The secrets that all servers of a cluster must share: its authorities, the key that signs service accounts' tokens, both with the state
/// of their rotation, and the key of encryption at rest. A plain value. The certificates that a server itself uses are not shared.
struct SharedSecrets {
    using Texts = std::map<std::string, std::string>;

    std::string cluster;  ///< 32 random hex digits, chosen at their creation
    Texts files;          ///< texts by path below the data directory: "pki/ca.key". Without encryption.yaml if administrators distribute it
    Texts settings;       ///< values of flags that servers must agree on, by name
    std::int64_t generation = 1;  ///< one more with each change

    /// New authorities and a new key. `encryption` is encryption.yaml; "" for none.
    static SharedSecrets make(std::string encryption, SystemTime now);
    /// JSON.
    std::string text() const;
    /// Errors: BadRequest for an invalid text, or one that lacks what servers need; Conflict for one of a newer version.
    static Result<SharedSecrets> parse(std::string_view text);
    /// Equal for two with the same files.
    std::string digest() const;

    bool operator==(const SharedSecrets&) const = default;
};

// Short blocking calls, on a data directory.

/// The files of a data directory; nullopt if it has no authority yet. `cluster` and `settings` stay empty. Errors: Io; Conflict if files
/// are missing or do not match, which is temporary while another program changes them.
Result<std::optional<SharedSecrets>> read_shared_files(const std::filesystem::path& data);
/// Writes `secrets` to the files of the data directory, in the form of the programs that create them: the authority's certificate last, so
/// that after a crash a first start is repeated. Error: Io.
Result<void> write_shared_files(const std::filesystem::path& data, const SharedSecrets& secrets);

/// The record that a data directory's server shares its secrets, with their state when all servers had the same. A plain value.
struct SharedMark {
    std::string cluster, digest;
    std::int64_t generation = 1;
};
/// nullopt if they are not shared. Errors: Io, BadRequest.
Result<std::optional<SharedMark>> read_shared_mark(const std::filesystem::path& data);
Result<void> write_shared_mark(const std::filesystem::path& data, const SharedMark& mark);
/// The server no longer shares secrets, if it did.
Result<void> remove_shared_mark(const std::filesystem::path& data);

}  // namespace porthole::node_join
