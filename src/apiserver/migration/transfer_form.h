#pragma once
#include <memory>
#include <optional>
#include <string>

#include "apiserver/encryption/storage_encryption.h"
#include "store/engine.h"
#include "store/etcd/messages.h"
#include "store/etcd/stored_form.h"

namespace porthole::apiserver {

/// The same record as the embedded store keeps it and as an etcd does, in both directions. An encrypted value stays as it is where its
/// context, the key that it lies under, is the same in both; else it is encrypted again. What is not encrypted becomes so where the
/// configuration says that it has to. Everything is decrypted once, so that what cannot be read is found. From any thread; blocks for KMS
/// plug-ins.
class TransferForm {
public:
    /// Two objects of the same configuration: their contexts differ. Nothing was opened with `etcd` before. `prefix` of all keys in etcd,
    /// without a slash at its end.
    TransferForm(std::shared_ptr<StorageEncryption> embedded, std::shared_ptr<StorageEncryption> etcd, std::string prefix);

    const std::string& prefix() const { return prefix_; }
    std::string etcd_key(std::string_view key) const;
    /// The store's key; nullopt for what is not the state of a cluster: marks of its etcd, what upstream's server keeps in addition to
    /// objects, what readers are not shown.
    std::optional<std::string> key_of(std::string_view etcd_key) const;

    /// A record in its stored form, and its plain value.
    struct Opened {
        std::string stored, plain;
        std::optional<std::uint32_t> revision_at;  ///< in `plain`, as Row::revision_at
    };
    /// As the embedded store keeps it. Error: InternalError, naming the key, for what cannot be read, and for a KMS plug-in that is away.
    Result<Opened> for_embedded(const std::string& key, std::string stored_in_etcd) const;
    /// As etcd keeps it, of a row as the embedded engine has it. Errors: as for_embedded().
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
