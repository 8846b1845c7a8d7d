#include "apiserver/encryption/value_transformer.h"

namespace porthole::apiserver {
namespace {

using Kind = EncryptionProvider::Kind;

std::string prefix_of(const EncryptionProvider& provider) {
    switch (provider.kind) {
        case Kind::Identity:
            return "";
        case Kind::Secretbox:
            return "k8s:enc:secretbox:v1:";
        case Kind::AesGcm:
            return "k8s:enc:aesgcm:v1:";
        case Kind::AesCbc:
            return "k8s:enc:aescbc:v1:";
        case Kind::Kms:
            return "k8s:enc:kms:v2:" + provider.name + ":";
    }
    return "";
}

}  // namespace

ValueTransformer::ValueTransformer(const std::vector<EncryptionProvider>& providers, const MakeKmsCipher& make_kms) {
    CHECK(!providers.empty());
    for (const EncryptionProvider& given : providers) {
        Provider provider{.prefix = prefix_of(given)};
        provider.no_key = given.kind == Kind::Secretbox ? "no matching key was found for the provided Secretbox transformer"
                                                        : "no matching key was found for the provided AES transformer";
        for (const EncryptionProvider::Key& key : given.keys) provider.keys.push_back({key.name + ":", make_key_cipher(given.kind, key)});
        provider.is_kms = given.kind == Kind::Kms;
        if (provider.is_kms) provider.keys.push_back({"", make_kms(given)});
        providers_.push_back(std::move(provider));
    }
}

Result<StorageCipher::Transformed> ValueTransformer::seal(std::string_view value, std::string_view context) const {
    const Provider& provider = providers_.front();
    if (provider.keys.empty()) return Transformed{std::string(value), {}};
    const Key& key = provider.keys.front();
    TRY(Transformed sealed, key.cipher->seal(value, context));
    sealed.bytes.insert(0, provider.prefix + key.name_prefix);
    return sealed;
}

void ValueTransformer::open_with(const Provider& provider, std::string_view stored, std::string_view context, Result<Transformed>& opened,
                                 std::vector<std::string>& failures) {
    stored.remove_prefix(provider.prefix.size());
    const std::size_t before = failures.size();
    for (const Key& key : provider.keys) {
        if (!stored.starts_with(key.name_prefix)) continue;
        opened = key.cipher->open(stored.substr(key.name_prefix.size()), context);
        if (opened) return;
        failures.push_back(opened.error().message);
    }
    if (failures.size() == before) failures.emplace_back(provider.no_key);
}

Result<StorageCipher::Transformed> ValueTransformer::open(std::string_view stored, std::string_view context) const {
    std::vector<std::string> failures;
    for (const Provider& provider : providers_) {
        if (provider.prefix.empty()) {
            if (!stored.starts_with(EncryptedPrefix)) return Transformed{std::string(stored), {}};
            continue;
        }
        if (!stored.starts_with(provider.prefix)) continue;
        // One name may stand for several keys while they are rotated, so a failure is not the end.
        Result<Transformed> opened = Error(Reason::InternalError, "");
        open_with(provider, stored, context, opened, failures);
        if (opened) return opened;
    }
    if (failures.empty()) return Error(Reason::InternalError, "no matching prefix found");
    if (failures.size() == 1) return Error(Reason::InternalError, failures.front());
    std::string all;
    for (const std::string& failure : failures) all += (all.empty() ? "[" : ", ") + failure;
    return Error(Reason::InternalError, all + "]");
}

EncryptionKeyId ValueTransformer::write_key() const {
    const Provider& provider = providers_.front();
    return provider.keys.empty() ? EncryptionKeyId() : provider.keys.front().cipher->write_key();
}

std::vector<EncryptionKeyId> ValueTransformer::local_keys() const {
    std::vector<EncryptionKeyId> ids;
    for (const Provider& provider : providers_)
        for (const Key& key : provider.keys)
            if (!provider.is_kms) ids.push_back(key.cipher->write_key());
    return ids;
}

bool ValueTransformer::may_read(EncryptionKeyId id, bool local) const {
    for (const Provider& provider : providers_) {
        if (provider.prefix.empty() && id == EncryptionKeyId()) return true;
        if (provider.is_kms && id != EncryptionKeyId() && !local) return true;
        for (const Key& key : provider.keys)
            if (!provider.is_kms && key.cipher->write_key() == id) return true;
    }
    return false;
}

Result<void> ValueTransformer::ready() const {
    const Provider& provider = providers_.front();
    return provider.keys.empty() ? Result<void>() : provider.keys.front().cipher->ready();
}

}  // namespace porthole::apiserver
