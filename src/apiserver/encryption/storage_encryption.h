#pragma once
#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "apiserver/encryption/value_transformer.h"

namespace porthole::apiserver {

/// The path under which upstream's server stores the object of `key`, "/registry/secrets/NAMESPACE/NAME", whatever its group: the context
/// of a value's encryption in the embedded store.
std::string upstream_path(std::string_view key);

/// Which values of the store are encrypted on disk and how, and the key of each stored value. A value that was sealed and may still be
/// stored later (by an etcd that has not answered) counts as stored. Any thread.
///
/// A value is stale if its resource's first provider would write it with another key (or none): writing it again then changes the disk,
/// although the object stays the same. To rotate a key: make the new key the first, write stale values, drop the old key.
class StorageEncryption {
public:
    explicit StorageEncryption(MakeKmsCipher make_kms) : make_kms_(std::move(make_kms)) {}

    /// Returns the context of each value instead of upstream_path(): its path in the store. Requires: nothing has been sealed, opened or
    /// noted yet.
    using ContextOf = std::function<std::string(std::string_view key)>;
    void set_context(ContextOf context_of) { context_of_ = std::move(context_of); }

    /// Replaces the configuration. Waits for the write in progress: later writes use the new first key, and earlier ones count as stale
    /// immediately. Blocks for that, and for new KMS plug-ins. Error: Conflict, without any change, if a stored value could no longer be
    /// read. Only a KMS plug-in knows its keys, so those are not checked.
    Result<void> use(const EncryptionConfiguration& configuration);

    /// The number of stale values, over resources that are or were encrypted.
    std::size_t stale_values() const;
    bool is_stale(std::string_view key) const;
    /// The number of values that could not be decrypted when the store was loaded and have not been written or deleted since, with one of
    /// them as an example.
    struct Unreadable {
        std::size_t count = 0;
        std::string example, why;
    };
    Unreadable unreadable() const;
    /// Unreadable values that can be decrypted now, in plain text. The caller writes them (ApiServer::restore). May block.
    struct Opened {
        std::string key, value;
    };
    std::vector<Opened> reopen() const;
    /// Whether a value of `key` can be encrypted. Never blocks for long. Error: InternalError.
    Result<void> check_writable(std::string_view key) const;

    // For the engine:
    using Transformed = StorageCipher::Transformed;
    /// Blocks use() while it exists.
    std::shared_lock<std::shared_mutex> hold() const { return std::shared_lock(mutex_); }
    /// Whether values of `key` are transformed. Requires: hold(), as do the next two.
    bool covers(std::string_view key) const { return transformer_of(key) != nullptr; }
    Result<Transformed> seal(std::string_view key, std::string_view value) const;
    Result<Transformed> open(std::string_view key, std::string_view stored) const;
    /// Records what is on disk under `key` now; nullopt: nothing readable.
    void note(const std::string& key, std::optional<EncryptionKeyId> written_with);
    /// A value that was sealed for `key` may be stored, until end_pending(). Requires: hold(), since it was sealed.
    using PendingKeys = std::multimap<std::string, EncryptionKeyId>;
    PendingKeys::iterator begin_pending(const std::string& key, EncryptionKeyId sealed_with);
    void end_pending(PendingKeys::iterator pending);
    /// A stored value, and why it cannot be decrypted.
    struct Sealed {
        std::string bytes, why;
    };
    using SealedByKey = std::map<std::string, Sealed>;
    void note_unreadable(SealedByKey sealed);
    /// Records one of them.
    void note_unreadable(const std::string& key, Sealed sealed);

private:
    struct Entry {
        std::string group, resource;  ///< "*" means all
        std::shared_ptr<ValueTransformer> transformer;
    };
    static const ValueTransformer* transformer_of(std::string_view key, const std::vector<Entry>& entries);
    const ValueTransformer* transformer_of(std::string_view key) const { return transformer_of(key, entries_); }
    Result<void> check_readable_with(const std::vector<Entry>& entries) const;
    EncryptionKeyId wanted_key(std::string_view key) const;

    const MakeKmsCipher make_kms_;
    ContextOf context_of_ = upstream_path;
    mutable std::shared_mutex mutex_;
    std::vector<Entry> entries_;  ///< exact ones first, then groups, then all; by mutex_
    mutable std::mutex keys_mutex_;
    std::unordered_map<std::string, EncryptionKeyId> keys_;  ///< of covered resources and of encrypted values; by keys_mutex_
    PendingKeys pending_;                                    ///< by keys_mutex_
    std::set<std::uint64_t> local_keys_;                     ///< ids of all keys of all configurations so far; guarded by keys_mutex_
    SealedByKey unreadable_;                                 ///< by keys_mutex_
};

}  // namespace porthole::apiserver
