#include "apiserver/migration/transfer_form.h"

#include <algorithm>

#include "apiserver/encryption/encrypting_engine.h"
#include "apiserver/etcd_form/data_version.h"
#include "apiserver/etcd_form/etcd_form.h"
#include "apiserver/etcd_form/etcd_keys.h"
#include "apiserver/etcd_form/revision_gap.h"
#include "store/lease_table.h"

namespace porthole::apiserver {
namespace {

constexpr std::string_view TransferredRoot = "/registry/", Fence = "/fence", Progress = "/progress";
/// What servers share by a token. It would be older than the keys in the data directory that a copy goes with; the next server shares
/// those.
constexpr std::string_view SharedSecrets = "/shared-secrets";
/// Allocations and addresses of upstream's servers, which those make anew; see kubernetes: pkg/registry/core/rest/storage_core.go and
/// pkg/controlplane/reconcilers.
constexpr std::string_view UpstreamOwn[] = {"/registry/ranges/", "/registry/masterleases/", "/registry/peerserverleases/"};

bool is_sealed(std::string_view stored) { return stored.starts_with(EncryptedPrefix); }
bool is_object(std::string_view key) { return key.starts_with(TransferredRoot); }

Error unreadable(const std::string& key, std::string_view why) {
    return Error(Reason::InternalError, key + " cannot be read: " + std::string(why));
}

/// What `encryption` stores of a plain value.
Result<std::string> seal(const StorageEncryption& encryption, const std::string& key, const std::string& plain) {
    const auto held = encryption.hold();
    if (!encryption.covers(key)) return plain;
    auto sealed = encryption.seal(key, plain);
    if (!sealed) return std::move(sealed).error().with_context("encrypting " + key);
    return std::move(sealed->bytes);
}

Result<std::string> open(const StorageEncryption& encryption, const std::string& key, const std::string& stored) {
    const auto held = encryption.hold();
    if (!is_object(key) || (!encryption.covers(key) && !is_sealed(stored))) return stored;
    auto opened = encryption.open(key, stored);
    if (!opened) return unreadable(key, opened.error().message);
    return std::move(opened->bytes);
}

}  // namespace

TransferForm::TransferForm(std::shared_ptr<StorageEncryption> embedded, std::shared_ptr<StorageEncryption> etcd, std::string prefix)
    : embedded_(std::move(embedded)), etcd_(std::move(etcd)), prefix_(std::move(prefix)), form_(make_etcd_form(etcd_, prefix_)) {}

std::string TransferForm::etcd_key(std::string_view key) const { return prefix_ + etcd_key_of(key); }

std::optional<std::string> TransferForm::key_of(std::string_view etcd_key) const {
    if (!etcd_key.starts_with(prefix_)) return std::nullopt;
    auto key = key_of_etcd(etcd_key.substr(prefix_.size()));
    if (!key || *key == Fence || *key == Progress || key->starts_with(SharedSecrets) || key->starts_with(CopyMark) ||
        *key == DataVersionKey || key->starts_with(store::LeasePrefix))
        return std::nullopt;
    if (std::ranges::any_of(UpstreamOwn, [&](std::string_view own) { return key->starts_with(own); })) return std::nullopt;
    return key;
}

bool TransferForm::same_context(std::string_view key) const { return upstream_path(key) == etcd_key(key); }

Result<TransferForm::Opened> TransferForm::for_embedded(const std::string& key, std::string stored) const {
    Opened opened;
    if (!is_object(key)) {  // a record of Porthole's, which has a gap or has none
        opened = {.stored = stored, .plain = stored};
        std::string same = stored;
        const auto gap = open_revision_gap(same);
        if (gap && same == stored) opened.revision_at = gap;
        return opened;
    }
    store::etcd::StoredForm::Value value = form_->open(key, stored);
    if (is_unreadable(value.bytes)) return unreadable(key, why_unreadable(value.bytes));
    opened.plain = std::move(value.bytes);
    opened.revision_at = value.revision_at;
    if (is_sealed(stored) && same_context(key)) {
        TRY(const std::string as_stored, open(*etcd_, key, stored));
        if (as_stored == opened.plain) opened.stored = std::move(stored);
    }
    if (opened.stored.empty()) {
        TRY(opened.stored, seal(*embedded_, key, opened.plain));
    }
    return opened;
}

Result<std::string> TransferForm::plain(const store::Row& row) const {
    TRY(std::string plain, open(*embedded_, row.key, row.value));
    if (row.revision_at && *row.revision_at > plain.size()) return unreadable(row.key, "it is shorter than it was");
    return plain;
}

Result<TransferForm::Opened> TransferForm::for_etcd(const store::Row& row) const {
    Opened opened{.stored = {}, .plain = {}, .revision_at = row.revision_at};
    TRY(opened.plain, plain(row));
    if (!is_object(row.key) || (is_sealed(row.value) && same_context(row.key))) {
        opened.stored = row.value;
    } else {
        TRY(opened.stored, seal(*etcd_, row.key, opened.plain));
    }
    return opened;
}

}  // namespace porthole::apiserver
