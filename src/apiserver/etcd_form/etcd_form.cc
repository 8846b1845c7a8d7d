#include "apiserver/etcd_form/etcd_form.h"

#include <algorithm>
#include <map>

#include "api/registry.h"
#include "apiserver/encryption/encrypting_engine.h"
#include "apiserver/etcd_form/definition_v1beta1.h"
#include "apiserver/etcd_form/etcd_keys.h"
#include "apiserver/etcd_form/revision_gap.h"
#include "apiserver/storage/keys.h"
#include "schema/fields/fields.h"
#include "schema/json/json.h"
#include "schema/json/json_parts.h"
#include "schema/protobuf/protobuf.h"

namespace porthole::apiserver {
namespace {

/// The JSON of what upstream's server has stored as protobuf, with defaults: it gives them to what it reads, and an older one has stored
/// objects without those of today. Error: why there is none.
Result<std::string> to_json(const schema::Registry& registry, std::string_view enveloped) {
    auto tree = schema::decode_enveloped(registry, enveloped);
    if (!tree) return std::move(tree).error().with_context("it is stored as protobuf that cannot be read");
    if (const schema::Kind* kind = registry.find_kind(tree->string_at({"apiVersion"}), tree->string_at({"kind"})))
        schema::apply_table_defaults(*tree, *kind->type);
    return schema::to_json(*tree);
}

constexpr std::string_view ObjectRoot = "/registry/", Definitions = "/registry/apiextensions.k8s.io/customresourcedefinitions/";

/// "/registry/core/pods/" of "/registry/core/pods/ns/a".
std::string_view resource_prefix(std::string_view key) {
    const std::size_t group_end = std::min(key.find('/', ObjectRoot.size()), key.size() - 1);
    return key.substr(0, key.find('/', group_end + 1) + 1);
}

/// Kinds as they are stored here, by the prefix of their keys.
std::map<std::string, const schema::Kind*, std::less<>> stored_kinds() {
    std::map<std::string, const schema::Kind*, std::less<>> kinds;
    for (const schema::Kind* kind : api::kinds()) {
        const bool stored = kind->group == kind->storage_group && kind->version == kind->storage_version;
        if (stored && kind->is(schema::Kind::Resource)) kinds.emplace(kind_prefix(*kind), kind);
    }
    return kinds;
}

/// Upstream's server ends the JSON of a custom resource with a line feed, and people indent what they put by hand: an event of a watch is a
/// line of its own, for clients that read lines. In JSON, line feeds are only between tokens.
void make_one_line(std::string& json) {
    while (json.ends_with('\n')) json.pop_back();
    std::ranges::replace_if(json, [](char c) { return c == '\n' || c == '\r'; }, ' ');
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
    /// That `value` can be sent to clients as an object of the resource of `key`: it becomes part of their lists as it is.
    Result<void> check_object(std::string_view key, const Value& value) const;

    const std::shared_ptr<StorageEncryption> encryption_;
    const schema::Registry registry_{api::kinds()};
    const std::map<std::string, const schema::Kind*, std::less<>> stored_kinds_ = apiserver::stored_kinds();
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

Result<void> EtcdForm::check_object(std::string_view key, const Value& value) const {
    Result<void> readable = schema::check_json(value.bytes, {.depth = 2 * schema::MaxTreeDepth});
    if (!readable) return Error(Reason::InternalError, "it is stored as JSON that cannot be read: " + readable.error().message);
    if (!value.revision_at) return Error(Reason::InternalError, "it is stored as JSON that is not an object with metadata");
    TRY(const schema::Value type, schema::parse_json_parts(value.bytes, {"apiVersion", "kind"}));
    const std::string version(type.string_at({"apiVersion"})), kind(type.string_at({"kind"}));
    const auto known = stored_kinds_.find(resource_prefix(key));
    // Which versions and kind a custom resource has is known above only.
    const std::string_view group = key.substr(ObjectRoot.size(), key.find('/', ObjectRoot.size()) - ObjectRoot.size());
    const bool as_here =
        known == stored_kinds_.end() ? version.starts_with(std::string(group) + "/") : version == known->second->api_version();
    if (!as_here)
        return Error(Reason::InternalError, "it is stored in the version " + version + ", which is not the one that is stored here");
    const bool fits = known == stored_kinds_.end() ? !kind.empty() : kind == known->second->kind;
    if (!fits) return Error(Reason::InternalError, "it is stored as an object of another kind, \"" + kind + "\"");
    return {};
}

store::etcd::StoredForm::Value EtcdForm::open(const std::string& key, std::string stored) {
    Result<std::string> plain = decrypt(key, stored);
    if (!plain) {
        const std::string why = plain.error().message;
        encryption_->note_unreadable(key, {std::move(stored), why});
        return {std::string(UnreadablePrefix) + why, std::nullopt};
    }
    if (schema::has_envelope(*plain)) plain = to_json(registry_, *plain);
    if (plain && key.starts_with(Definitions)) plain = definition_of_v1beta1(*std::move(plain));
    if (!plain) return {std::string(UnreadablePrefix) + plain.error().message, std::nullopt};
    Value value{std::move(*plain), std::nullopt};
    value.revision_at = open_revision_gap(value.bytes);
    if (!key.starts_with(ObjectRoot)) return value;  // a record of Porthole's
    if (const auto fits = check_object(key, value); !fits) return {std::string(UnreadablePrefix) + fits.error().message, std::nullopt};
    make_one_line(value.bytes);
    return value;
}

}  // namespace

std::shared_ptr<store::etcd::StoredForm> make_etcd_form(std::shared_ptr<StorageEncryption> encryption, std::string prefix) {
    encryption->set_context([prefix = std::move(prefix)](std::string_view key) { return prefix + etcd_key_of(key); });
    return std::make_shared<EtcdForm>(std::move(encryption));
}

}  // namespace porthole::apiserver
