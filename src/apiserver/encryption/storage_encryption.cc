#include "apiserver/encryption/storage_encryption.h"

#include <algorithm>
#include <map>
#include <set>

namespace porthole::apiserver {
namespace {

constexpr std::string_view Root = "/registry/";

/// "/registry/core/secrets/ns/name" in its parts; the group of other keys is nullopt.
struct KeyParts {
    std::optional<std::string_view> group;  ///< "" is the core group
    std::string_view resource, rest;        ///< `rest` begins with "/"
};

KeyParts parts_of(std::string_view key) {
    if (!key.starts_with(Root)) return {};
    key.remove_prefix(Root.size());
    const std::size_t first = key.find('/');
    if (first == key.npos) return {};
    const std::size_t second = std::min(key.find('/', first + 1), key.size());
    const std::string_view group = key.substr(0, first);
    return {group == "core" ? "" : group, key.substr(first + 1, second - first - 1), key.substr(second)};
}

}  // namespace

std::string upstream_path(std::string_view key) {
    static const std::map<std::string_view, std::string_view> Special = {{"replicationcontrollers", "controllers"},
                                                                         {"endpoints", "services/endpoints"},
                                                                         {"services", "services/specs"},
                                                                         {"nodes", "minions"},
                                                                         {"ingresses", "ingress"}};
    const KeyParts parts = parts_of(key);
    if (!parts.group) return std::string(key);
    const auto special = Special.find(parts.resource);
    std::string path(Root);
    return path.append(special == Special.end() ? parts.resource : special->second).append(parts.rest);
}

Result<void> StorageEncryption::use(const EncryptionConfiguration& configuration) {
    std::set<std::pair<std::string, std::string>> named;
    for (const EncryptionConfiguration::Rule& rule : configuration.rules) {
        for (const std::string& text : rule.resources) {
            const std::size_t dot = std::min(text.find('.'), text.size());
            named.emplace(dot == text.size() ? "" : text.substr(dot + 1), text.substr(0, dot));
        }
    }
    // One plug-in serves all resources that name it.
    std::map<std::string, std::shared_ptr<StorageCipher>> plugins;
    const MakeKmsCipher make_once = [&](const EncryptionProvider& provider) {
        std::shared_ptr<StorageCipher>& cipher = plugins[provider.name];
        if (!cipher) cipher = make_kms_(provider);
        return cipher;
    };
    std::vector<Entry> entries;
    for (const auto& [group, resource] : named)
        entries.push_back({group, resource, std::make_shared<ValueTransformer>(configuration.providers_of(group, resource), make_once)});
    std::ranges::stable_sort(entries, {}, [](const Entry& entry) { return (entry.group == "*") + (entry.resource == "*"); });
    const std::unique_lock lock(mutex_);
    TRY_VOID(check_readable_with(entries));
    {
        const std::lock_guard keys_lock(keys_mutex_);
        for (const Entry& entry : entries)
            for (const EncryptionKeyId id : entry.transformer->local_keys()) local_keys_.insert(id.value);
    }
    entries_.swap(entries);
    return {};
}

/// A server that starts takes any configuration, and says what it cannot read; one that runs must not drop keys that it needs.
Result<void> StorageEncryption::check_readable_with(const std::vector<Entry>& entries) const {
    const std::lock_guard lock(keys_mutex_);
    const auto check = [&](const std::string& key, EncryptionKeyId id) -> Result<void> {
        const ValueTransformer* transformer = transformer_of(key, entries);
        const bool readable = transformer ? transformer->may_read(id, local_keys_.contains(id.value)) : id == EncryptionKeyId();
        if (!readable)
            return Error(Reason::Conflict, "it has no key for " + context_of_(key) + ", which is stored encrypted with another one: " +
                                               "write such values with the new key before the old one is removed");
        return {};
    };
    for (const auto& [key, id] : keys_) TRY_VOID(check(key, id));
    for (const auto& [key, id] : pending_) TRY_VOID(check(key, id));
    return {};
}

const ValueTransformer* StorageEncryption::transformer_of(std::string_view key, const std::vector<Entry>& entries) {
    if (entries.empty()) return nullptr;
    const KeyParts parts = parts_of(key);
    if (!parts.group) return nullptr;
    for (const Entry& entry : entries) {
        if ((entry.resource == parts.resource || entry.resource == "*") && (entry.group == *parts.group || entry.group == "*"))
            return entry.transformer.get();
    }
    return nullptr;
}

EncryptionKeyId StorageEncryption::wanted_key(std::string_view key) const {
    const ValueTransformer* transformer = transformer_of(key);
    return transformer ? transformer->write_key() : EncryptionKeyId();
}

Result<void> StorageEncryption::check_writable(std::string_view key) const {
    const auto held = hold();
    const ValueTransformer* transformer = transformer_of(key);
    const Result<void> ready = transformer ? transformer->ready() : Result<void>();
    if (!ready) return Error(Reason::InternalError, "Internal error occurred: " + ready.error().message);
    return {};
}

Result<StorageCipher::Transformed> StorageEncryption::seal(std::string_view key, std::string_view value) const {
    const ValueTransformer* transformer = transformer_of(key);
    CHECK(transformer);
    return transformer->seal(value, context_of_(key));
}

Result<StorageCipher::Transformed> StorageEncryption::open(std::string_view key, std::string_view stored) const {
    if (const ValueTransformer* transformer = transformer_of(key)) return transformer->open(stored, context_of_(key));
    if (!stored.starts_with(EncryptedPrefix)) return Transformed{std::string(stored), {}};
    return Error(Reason::InternalError, "identity transformer tried to read encrypted data");
}

void StorageEncryption::note(const std::string& key, std::optional<EncryptionKeyId> written_with) {
    const std::lock_guard lock(keys_mutex_);
    if (written_with)
        keys_[key] = *written_with;
    else
        keys_.erase(key);
    unreadable_.erase(key);
}

StorageEncryption::PendingKeys::iterator StorageEncryption::begin_pending(const std::string& key, EncryptionKeyId sealed_with) {
    const std::lock_guard lock(keys_mutex_);
    return pending_.emplace(key, sealed_with);
}

void StorageEncryption::end_pending(PendingKeys::iterator pending) {
    const std::lock_guard lock(keys_mutex_);
    pending_.erase(pending);
}

void StorageEncryption::note_unreadable(SealedByKey sealed) {
    const std::lock_guard lock(keys_mutex_);
    unreadable_ = std::move(sealed);
}

void StorageEncryption::note_unreadable(const std::string& key, Sealed sealed) {
    const std::lock_guard lock(keys_mutex_);
    keys_.erase(key);  // not stale: it cannot be written anew
    unreadable_[key] = std::move(sealed);
}

StorageEncryption::Unreadable StorageEncryption::unreadable() const {
    const std::lock_guard lock(keys_mutex_);
    if (unreadable_.empty()) return {};
    const auto& [key, sealed] = *unreadable_.begin();
    return {.count = unreadable_.size(), .example = key, .why = sealed.why};
}

std::vector<StorageEncryption::Opened> StorageEncryption::reopen() const {
    SealedByKey sealed;
    {
        const std::lock_guard lock(keys_mutex_);
        sealed = unreadable_;
    }
    std::vector<Opened> all;
    for (const auto& [key, value] : sealed) {
        const auto held = hold();  // again for each: who waits to change the configuration comes in between
        if (auto opened = open(key, value.bytes)) all.push_back({key, std::move(opened->bytes)});
    }
    return all;
}

bool StorageEncryption::is_stale(std::string_view key) const {
    const auto held = hold();
    const std::lock_guard lock(keys_mutex_);
    const auto found = keys_.find(std::string(key));
    return (found == keys_.end() ? EncryptionKeyId() : found->second) != wanted_key(key);
}

std::size_t StorageEncryption::stale_values() const {
    const auto held = hold();
    const std::lock_guard lock(keys_mutex_);
    const auto stale = [&](const auto& entry) { return entry.second != wanted_key(entry.first); };
    return static_cast<std::size_t>(std::ranges::count_if(keys_, stale) + std::ranges::count_if(pending_, stale));
}

}  // namespace porthole::apiserver
