#include "apiserver/etcd_form/etcd_form.h"

#include "api/registry.h"
#include "apiserver/encryption/encrypting_engine.h"
#include "apiserver/etcd_form/etcd_keys.h"
#include "apiserver/etcd_form/revision_gap.h"
#include "schema/json/json.h"
#include "schema/protobuf/protobuf.h"

namespace porthole::apiserver {
namespace {

/// The JSON of what upstream's server has stored as protobuf. Error: why there is none.
Result<std::string> to_json(const schema::Registry& registry, std::string_view enveloped) {
    auto tree = schema::decode_enveloped(registry, enveloped);
    if (!tree) return std::move(tree).error().with_context("it is stored as protobuf that cannot be read");
    const std::string version(tree->string_at({"apiVersion"}));
    const schema::Kind* kind = registry.find_kind(version, tree->string_at({"kind"}));
    const bool as_ours = kind && kind->group == kind->storage_group && kind->version == kind->storage_version;
    if (!as_ours)
        return Error(Reason::InternalError, "it is stored in the version " + version + ", which is not the one that is stored here");
    return schema::to_json(*tree);
}

/// That a value may still be stored.
class PendingValue {
public:
    PendingValue(std::shared_ptr<StorageEncryption> encryption, const std::string& key, EncryptionKeyId sealed_with)
        : encryption_(std::move(encryption)), place_(encryption_->begin_pending(key, sealed_with)) {}
    ~PendingValue() { encryption_->end_pending(place_); }
    PendingValue(const PendingValue&) = delete;
    PendingValue& operator=(const PendingValue&) = delete;

private:
    const std::shared_ptr<StorageEncryption> encryption_;
    const StorageEncryption::PendingKeys::iterator place_;
};

class EtcdForm final : public store::etcd::StoredForm {
public:
    explicit EtcdForm(std::shared_ptr<StorageEncryption> encryption) : encryption_(std::move(encryption)) {}

    std::string stored_key(std::string_view key) const override { return etcd_key_of(key); }
    std::optional<std::string> key_of(std::string_view stored_key) const override { return key_of_etcd(stored_key); }

    Result<Sealed> seal(const std::string& key, Value value) override;
    Value open(const std::string& key, std::string stored) override;
    void removed(const std::string& key) override { encryption_->note(key, std::nullopt); }
    bool is_slow(std::string_view key) const override {
        const auto held = encryption_->hold();
        return encryption_->covers(key);
    }
    Result<void> check_writable(std::string_view key) const override { return encryption_->check_writable(key); }
    bool is_stale(std::string_view key) const override { return encryption_->is_stale(key); }

private:
    /// The plain bytes, or why there are none.
    Result<std::string> decrypt(const std::string& key, const std::string& stored);

    const std::shared_ptr<StorageEncryption> encryption_;
    const schema::Registry registry_{api::kinds()};
};

Result<store::etcd::StoredForm::Sealed> EtcdForm::seal(const std::string& key, Value value) {
    const auto held = encryption_->hold();
    if (!encryption_->covers(key)) return Sealed{std::move(value.bytes)};
    auto sealed = encryption_->seal(key, value.bytes);
    if (!sealed) return std::move(sealed).error().with_context("encrypting " + key);
    return Sealed{std::move(sealed->bytes), std::make_shared<PendingValue>(encryption_, key, sealed->key)};
}

Result<std::string> EtcdForm::decrypt(const std::string& key, const std::string& stored) {
    const auto held = encryption_->hold();
    const bool covered = encryption_->covers(key);
    if (!covered && !stored.starts_with(EncryptedPrefix)) {
        encryption_->note(key, std::nullopt);
        return stored;
    }
    TRY(auto opened, encryption_->open(key, stored));
    encryption_->note(key, opened.key);
    return std::move(opened.bytes);
}

store::etcd::StoredForm::Value EtcdForm::open(const std::string& key, std::string stored) {
    Result<std::string> plain = decrypt(key, stored);
    if (!plain) {
        const std::string why = plain.error().message;
        encryption_->note_unreadable(key, {std::move(stored), why});
        return {std::string(UnreadablePrefix) + why, std::nullopt};
    }
    if (schema::has_envelope(*plain)) plain = to_json(registry_, *plain);
    if (!plain) return {std::string(UnreadablePrefix) + plain.error().message, std::nullopt};
    Value value{std::move(*plain), std::nullopt};
    value.revision_at = open_revision_gap(value.bytes);
    return value;
}

}  // namespace

std::shared_ptr<store::etcd::StoredForm> make_etcd_form(std::shared_ptr<StorageEncryption> encryption, std::string prefix) {
    encryption->set_context([prefix = std::move(prefix)](std::string_view key) { return prefix + etcd_key_of(key); });
    return std::make_shared<EtcdForm>(std::move(encryption));
}

}  // namespace porthole::apiserver
