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

/// The path that upstream's server stores the object of `key` under, "/registry/secrets/NAMESPACE/NAME", whatever its group: the context of
/// a value's encryption in the embedded store.
std::string upstream_path(std::string_view key);

/// What of the store is encrypted on disk and how, and with which key each value there is. Where a value may be stored at any time after
/// it was sealed (an etcd that has not answered), it counts as one that is there. Any thread.
///
/// A value is stale when its resource's first provider would write it with another key (or none): writing it again then changes what is
/// on disk, although the object stays the same. Rotation of a key consists of this: make the new key the first, write what is stale, drop
/// the old key.
class StorageEncryption {
public:
    explicit StorageEncryption(MakeKmsCipher make_kms) : make_kms_(std::move(make_kms)) {}

    /// The context of each value instead of upstream_path(): where it is stored. Requires: nothing has been sealed, opened or noted yet.
    using ContextOf = std::function<std::string(std::string_view key)>;
    void set_context(ContextOf context_of) { context_of_ = std::move(context_of); }

    /// From now on. Waits for the write in progress: what is written afterwards is written with the new first key, and what was written
    /// before counts as stale at once. Blocks for that, and for KMS plug-ins that are new. Error: Conflict, and nothing changes, where a
    /// value that is stored could not be read any more. Which keys a KMS plug-in has only it knows: those are not checked.
    Result<void> use(const EncryptionConfiguration& configuration);

    /// Of objects in the store whose resource is encrypted, or was; without those that are as they should be.
    std::size_t stale_values() const;
    bool is_stale(std::string_view key) const;
    /// What could not be decrypted when the store was loaded, and has not been written or deleted since, with one of them.
    struct Unreadable {
        std::size_t count = 0;
        std::string example, why;
    };
    Unreadable unreadable() const;
    /// Those of them that can be decrypted by now, plain. The caller writes them (ApiServer::restore). May block.
    struct Opened {
        std::string key, value;
    };
    std::vector<Opened> reopen() const;
    /// Whether a value of `key` can be encrypted. Never blocks for long. Error: InternalError.
    Result<void> check_writable(std::string_view key) const;

    // For the engine:
    using Transformed = StorageCipher::Transformed;
    /// Keeps use() waiting while it lives.
    std::shared_lock<std::shared_mutex> hold() const { return std::shared_lock(mutex_); }
    /// Whether values of `key` are transformed. Requires: hold(), as the next two.
    bool covers(std::string_view key) const { return transformer_of(key) != nullptr; }
    Result<Transformed> seal(std::string_view key, std::string_view value) const;
    Result<Transformed> open(std::string_view key, std::string_view stored) const;
    /// What is on disk under `key` now; nullopt: nothing that can be read.
    void note(const std::string& key, std::optional<EncryptionKeyId> written_with);
    /// A value that was sealed for `key` may be stored, until end_pending(). Requires: hold(), since it was sealed.
    using PendingKeys = std::multimap<std::string, EncryptionKeyId>;
    PendingKeys::iterator begin_pending(const std::string& key, EncryptionKeyId sealed_with);
    void end_pending(PendingKeys::iterator pending);
    /// What is stored, and why it cannot be decrypted.
    struct Sealed {
        std::string bytes, why;
    };
    using SealedByKey = std::map<std::string, Sealed>;
    void note_unreadable(SealedByKey sealed);
    /// One more of them.
    void note_unreadable(const std::string& key, Sealed sealed);

private:
    struct Entry {
        std::string group, resource;  ///< "*" stands for all
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
    std::set<std::uint64_t> local_keys_;                     ///< ids of all keys that configurations have held; by keys_mutex_
    SealedByKey unreadable_;                                 ///< by keys_mutex_
};

}  // namespace porthole::apiserver
