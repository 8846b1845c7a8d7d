#pragma once
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "apiserver/api_server.h"
#include "apiserver/encryption/encrypting_engine.h"
#include "base/log.h"
#include "cmd/program/flags.h"
#include "cmd/program/runtime_setup.h"

namespace porthole::cmd {

/// The command line's settings of encryption at rest, with upstream's flags.
struct EncryptionFlags {
    std::string configuration_file;  ///< "": the key file of the data directory
    bool automatic_reload = false;   ///< always, for the key file
};
void add_encryption_flags(CLI::App& app, EncryptionFlags& flags);

/// Detects changes of a file.
struct FileState {
    std::filesystem::file_time_type written;
    std::uintmax_t size = 0;
    bool operator==(const FileState&) const = default;
};

/// The encryption of a server's store, by a configuration file that may change. Lives on the loop of `world`, which outlives it.
class ServerEncryption {
public:
    ServerEncryption(RealWorld& world, Logger log) : world_(world), log_(std::move(log)) {}

    /// Reads the file, or creates a key for the key file `local_key_file`, which check_loaded() writes. Errors: those of the file, with its
    /// name.
    Result<void> open(const EncryptionFlags& flags, const std::string& local_key_file);
    /// `engine` behind the encryption. Requires: open().
    std::unique_ptr<store::Engine> wrap(std::unique_ptr<store::Engine> engine);
    /// For a store that encrypts by itself. Requires: open().
    const std::shared_ptr<apiserver::StorageEncryption>& encryption() const { return encryption_; }
    /// The kinds of providers of secrets at start, separated by commas, the encrypting one first: for /flagz.
    const std::string& providers() const { return providers_; }
    /// Logs whether values could not be decrypted. Requires: the store has been loaded, and nothing written to it. Error: Conflict if the
    /// key file is missing but values are encrypted, which a new key would make permanent; Io.
    Result<void> check_loaded();
    /// The text of the file that all servers of the cluster have by now.
    using Agreed = std::function<std::string()>;
    /// Applies changes of the file, and makes `api` restore what can be decrypted now, until cancelled. If the file is shared with other
    /// servers, what it encrypts is read immediately, and it encrypts as soon as it is `agreed`; that is empty for a file that is not
    /// shared.
    Task<> follow(apiserver::ApiServer& api, Agreed agreed);
    void append_metrics(std::string& out) const;

private:
    struct Content {
        std::string text;
        apiserver::EncryptionConfiguration configuration;
    };
    Result<Content> read() const;
    Task<> take_up_changes(const Agreed& agreed);
    /// Uses it, or only reads with it, too. What cannot be used is logged.
    Task<> change_to(Content content, bool all_have_it);
    void taken_up(Content content);
    void not_used(const Error& error);
    Task<> restore(apiserver::ApiServer& api);

    RealWorld& world_;
    Logger log_;
    std::string path_, hash_, providers_;
    FileState seen_;                                               ///< of the file in use
    std::optional<apiserver::EncryptionConfiguration> unwritten_;  ///< with a new key, until it is certain that no other is needed
    apiserver::EncryptionConfiguration used_;                      ///< by which values are encrypted
    std::optional<Content> awaited_;                               ///< read by already, and not agreed yet
    bool follows_ = false;
    std::uint64_t reloads_ = 0, failures_ = 0;
    std::shared_ptr<apiserver::StorageEncryption> encryption_;
};

}  // namespace porthole::cmd
