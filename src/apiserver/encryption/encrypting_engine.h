#pragma once
#include <memory>

#include "apiserver/encryption/storage_encryption.h"
#include "store/engine.h"
#include "store/stored_value.h"

namespace porthole::apiserver {

/// In memory, the value of an object that cannot be decrypted: this prefix, then upstream's message. The value on disk is not changed.
inline constexpr std::string_view UnreadablePrefix = "k8s:enc:unreadable:";

/// Whether a stored value is unreadable, and why.
inline bool is_unreadable(std::string_view value) { return value.starts_with(UnreadablePrefix); }
inline bool is_unreadable(const store::StoredValue& value) { return value.starts_with(UnreadablePrefix); }
inline std::string_view why_unreadable(std::string_view value) { return value.substr(UnreadablePrefix.size()); }

/// An engine whose disk contains encrypted values: encrypts what it passes to `engine`, on the thread that writes, and decrypts what it
/// loads. Its users see plain values.
///
/// A value that cannot be decrypted stays unreadable until it is written again: see StorageEncryption::reopen(). Older versions that cannot
/// be decrypted, because their key has been dropped, are hidden by treating their revisions as compacted.
std::unique_ptr<store::Engine> make_encrypting_engine(std::unique_ptr<store::Engine> engine, std::shared_ptr<StorageEncryption> encryption);

}  // namespace porthole::apiserver
