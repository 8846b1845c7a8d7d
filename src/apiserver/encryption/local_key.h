#pragma once
#include <filesystem>
#include <functional>
#include <string>

#include "apiserver/encryption/encryption_configuration.h"

namespace porthole::apiserver {

/// The file in a data directory with the key for the cluster's secrets, unless an encryption is configured: an EncryptionConfiguration for
/// secrets with the provider secretbox, and identity last, so that values of older versions can be read. Mode 0600. Blocks. Each change
/// replaces the whole file and is on disk when the function returns.
class LocalKeyFile {
public:
    explicit LocalKeyFile(std::filesystem::path path) : path_(std::move(path)) {}

    const std::filesystem::path& path() const { return path_; }
    /// Error: Io.
    Result<bool> exists() const;
    /// The content with one new key. Not written: call write() once no stored value needs another key.
    static EncryptionConfiguration with_new_key();
    /// Error: Io.
    Result<void> write(const EncryptionConfiguration& configuration) const;
    /// Error: Io, BadRequest for a file that is not as this class writes it.
    Result<EncryptionConfiguration> read() const;
    /// "sha256:…" of the text, as the server reports its configuration. Error: Io.
    Result<std::string> hash() const;

    /// The keys, the one that writes first. Error: as read().
    Result<std::vector<std::string>> key_names() const;
    /// Adds a new key for writing; earlier ones are kept for reading. Error: as read().
    Result<void> add_key() const;
    /// Keeps only the first key. Requires: no stored value was written with another. Error: as read().
    Result<void> drop_old_keys() const;

private:
    Result<void> write_keys(const std::vector<EncryptionProvider::Key>& keys) const;
    Result<std::vector<EncryptionProvider::Key>> keys() const;

    const std::filesystem::path path_;
};

/// "sha256:…" of a configuration file's text.
std::string configuration_hash(std::string_view text);

}  // namespace porthole::apiserver
