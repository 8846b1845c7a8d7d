#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "apiserver/encryption/encryption_configuration.h"
#include "base/result.h"

namespace porthole::apiserver {

/// Identifies a key without revealing it: two values with the same EncryptionKeyId were written with the same key.
struct EncryptionKeyId {
    std::uint64_t value = 0;  ///< 0: not encrypted
    bool operator==(const EncryptionKeyId&) const = default;
};

/// Encrypts with one key, or with the keys of one KMS plug-in. Any thread.
class StorageCipher {
public:
    virtual ~StorageCipher() = default;

    /// Bytes, and the key with which they were encrypted.
    struct Transformed {
        std::string bytes;
        EncryptionKeyId key;
    };
    /// `context` must be the same when the value is opened (not with every cipher). May block. Error: InternalError.
    virtual Result<Transformed> seal(std::string_view value, std::string_view context) = 0;
    /// May block. Error: InternalError with upstream's message.
    virtual Result<Transformed> open(std::string_view sealed, std::string_view context) = 0;
    /// The key that seal() would use now.
    virtual EncryptionKeyId write_key() const = 0;
    /// Whether seal() would succeed. Never blocks. Error: InternalError.
    virtual Result<void> ready() const { return {}; }
};

/// For a key of secretbox, aesgcm or aescbc.
std::unique_ptr<StorageCipher> make_key_cipher(EncryptionProvider::Kind kind, const EncryptionProvider::Key& key);

}  // namespace porthole::apiserver
