#pragma once
#include <memory>
#include <optional>
#include <string>

#include "apiserver/encryption/storage_encryption.h"
#include "store/engine.h"
#include "store/etcd/messages.h"
#include "store/etcd/stored_form.h"

namespace porthole::apiserver {

/// Converts records between the forms of the embedded store and of etcd, in both directions. An encrypted value is not changed if its
/// context, the key under which it is stored, is the same in both; otherwise it is encrypted again. Plain values are encrypted if the
/// configuration requires it. Everything is decrypted once, to detect what cannot be read. From any thread; blocks for KMS plug-ins.
class TransferForm {
public:
    /// Two objects of the same configuration, with different contexts. Nothing was opened with `etcd` before. `prefix` of all keys in etcd
    /// has no trailing slash.
    TransferForm(std::shared_ptr<StorageEncryption> embedded, std::shared_ptr<StorageEncryption> etcd, std::string prefix);

    const std::string& prefix() const { return prefix_; }
    std::string etcd_key(std::string_view key) const;
    /// The store's key; nullopt for what is not part of a cluster's state: marks of its etcd, upstream's records that are not objects, and
    /// keys that are hidden from readers.
    std::optional<std::string> key_of(std::string_view etcd_key) const;

    /// A record in its stored form, and its plain value.
    struct Opened {
        std::string stored, plain;
        std::optional<std::uint32_t> revision_at;  ///< in `plain`, as Row::revision_at
    };
    /// The value in the embedded store's form. Error: InternalError with the key, if it cannot be read, and for an unreachable KMS plug-in.
    Result<Opened> for_embedded(const std::string& key, std::string stored_in_etcd) const;
    /// The value in etcd's form, from a row of the embedded engine. Errors: as for_embedded().
    Result<Opened> for_etcd(const store::Row& row) const;
    /// The plain value of such a row. Error: as for_embedded().
    Result<std::string> plain(const store::Row& row) const;

private:
    bool same_context(std::string_view key) const;

    const std::shared_ptr<StorageEncryption> embedded_, etcd_;
    const std::string prefix_;
    const std::shared_ptr<store::etcd::StoredForm> form_;
};

/// Below the prefix, where a copy into it has begun and has not ended.
inline constexpr std::string_view CopyMark = "/copying";

}  // namespace porthole::apiserver
