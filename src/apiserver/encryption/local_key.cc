#include "apiserver/encryption/local_key.h"

#include "net/tls/crypto.h"
#include "runtime/files/durable_file.h"

namespace porthole::apiserver {
namespace {

constexpr std::size_t KeySize = 32;

EncryptionProvider::Key new_key() {
    constexpr char Digits[] = "0123456789abcdef";
    EncryptionProvider::Key key{.name = "local-", .secret = net::random_bytes(KeySize)};
    for (const char byte : net::random_bytes(4)) {
        key.name += Digits[static_cast<unsigned char>(byte) >> 4];
        key.name += Digits[static_cast<unsigned char>(byte) & 15];
    }
    return key;
}

EncryptionConfiguration configuration_of(const std::vector<EncryptionProvider::Key>& keys) {
    EncryptionConfiguration configuration;
    configuration.rules.push_back(
        {.resources = {"secrets"},
         .providers = {{.kind = EncryptionProvider::Kind::Secretbox, .keys = keys}, {.kind = EncryptionProvider::Kind::Identity}}});
    return configuration;
}

}  // namespace

std::string configuration_hash(std::string_view text) { return "sha256:" + net::sha256_hex(text); }

Result<bool> LocalKeyFile::exists() const {
    std::error_code error;
    const bool found = std::filesystem::exists(path_, error);
    if (error) return Error(Reason::Io, "cannot read " + path_.string() + ": " + error.message());
    return found;
}

EncryptionConfiguration LocalKeyFile::with_new_key() { return configuration_of({new_key()}); }

Result<void> LocalKeyFile::write(const EncryptionConfiguration& configuration) const {
    return write_durably(path_, configuration.text(), 0600);
}

Result<EncryptionConfiguration> LocalKeyFile::read() const {
    TRY(const std::string text, read_file(path_));
    auto configuration = EncryptionConfiguration::parse(text);
    if (!configuration) return std::move(configuration).error().with_context(path_.string());
    return configuration;
}

Result<std::string> LocalKeyFile::hash() const {
    TRY(const std::string text, read_file(path_));
    return configuration_hash(text);
}

Result<std::vector<EncryptionProvider::Key>> LocalKeyFile::keys() const {
    TRY(const EncryptionConfiguration configuration, read());
    const Error other(Reason::BadRequest, path_.string() + " was changed by hand: its keys are not rotated by this command");
    if (configuration.rules.size() != 1 || configuration.rules.front().providers.empty()) return other;
    std::vector<EncryptionProvider::Key> keys = configuration.rules.front().providers.front().keys;
    if (keys.empty() || !(configuration == configuration_of(keys))) return other;
    return keys;
}

Result<std::vector<std::string>> LocalKeyFile::key_names() const {
    TRY(const auto all, keys());
    std::vector<std::string> names;
    for (const EncryptionProvider::Key& key : all) names.push_back(key.name);
    return names;
}

Result<void> LocalKeyFile::add_key() const {
    TRY(auto all, keys());
    all.insert(all.begin(), new_key());
    return write_keys(all);
}

Result<void> LocalKeyFile::drop_old_keys() const {
    TRY(auto all, keys());
    all.resize(1);
    return write_keys(all);
}

Result<void> LocalKeyFile::write_keys(const std::vector<EncryptionProvider::Key>& keys) const { return write(configuration_of(keys)); }

}  // namespace porthole::apiserver
