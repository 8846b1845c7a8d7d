#include "apiserver/encryption/secretbox.h"
#include "apiserver/encryption/storage_cipher.h"
#include "net/tls/crypto.h"

namespace porthole::apiserver {
namespace {

/// Of kind, name and secret together, so that a key that was replaced under its old name is another one.
EncryptionKeyId id_of(EncryptionProvider::Kind kind, const EncryptionProvider::Key& key) {
    const std::string digest = net::hmac_sha256(key.secret, std::to_string(static_cast<int>(kind)) + ":" + key.name);
    EncryptionKeyId id;
    for (int i = 0; i < 8; ++i) id.value = id.value << 8 | static_cast<unsigned char>(digest[static_cast<std::size_t>(i)]);
    id.value |= 1;  // 0 is no key
    return id;
}

class KeyCipher final : public StorageCipher {
public:
    KeyCipher(EncryptionProvider::Kind kind, const EncryptionProvider::Key& key)
        : kind_(kind), secret_(key.secret), id_(id_of(kind, key)) {}

    Result<Transformed> seal(std::string_view value, std::string_view context) override {
        switch (kind_) {
            case EncryptionProvider::Kind::Secretbox:
                return Transformed{seal_secretbox(secret_, value), id_};
            case EncryptionProvider::Kind::AesGcm:
                return Transformed{net::seal_aes_gcm(secret_, value, context), id_};
            default:
                return Transformed{net::seal_aes_cbc(secret_, value), id_};
        }
    }
    Result<Transformed> open(std::string_view sealed, std::string_view context) override {
        auto opened = opened_bytes(sealed, context);
        if (!opened) return Error(Reason::InternalError, opened.error().message);
        return Transformed{*std::move(opened), id_};
    }
    EncryptionKeyId write_key() const override { return id_; }

private:
    Result<std::string> opened_bytes(std::string_view sealed, std::string_view context) const {
        if (kind_ == EncryptionProvider::Kind::Secretbox) return open_secretbox(secret_, sealed);
        // In the words of Go's libraries, which upstream passes on.
        if (kind_ == EncryptionProvider::Kind::AesGcm) {
            auto opened = net::open_aes_gcm(secret_, sealed, context);
            return opened ? std::move(opened) : Error(Reason::Forbidden, "cipher: message authentication failed");
        }
        auto opened = net::open_aes_cbc(secret_, sealed);
        return opened ? std::move(opened) : Error(Reason::Forbidden, "invalid padding on input");
    }

    const EncryptionProvider::Kind kind_;
    const std::string secret_;
    const EncryptionKeyId id_;
};

}  // namespace

std::unique_ptr<StorageCipher> make_key_cipher(EncryptionProvider::Kind kind, const EncryptionProvider::Key& key) {
    return std::make_unique<KeyCipher>(kind, key);
}

}  // namespace porthole::apiserver
