#pragma once
#include <memory>

#include "apiserver/encryption/storage_encryption.h"
#include "store/engine.h"

namespace porthole::apiserver {

/// In memory, the value of an object that cannot be decrypted: this, then why, in upstream's words. On disk it stays as it is.
inline constexpr std::string_view UnreadablePrefix = "k8s:enc:unreadable:";

/// Whether a stored value is such a one, and why.
inline bool is_unreadable(std::string_view value) { return value.starts_with(UnreadablePrefix); }
inline std::string_view why_unreadable(std::string_view value) { return value.substr(UnreadablePrefix.size()); }

/// An engine whose disk holds encrypted values: encrypts what goes to `engine`, on the thread that writes, and decrypts what it loads.
/// Everything above sees plain values.
///
/// What cannot be decrypted is an unreadable value until it is written again: see StorageEncryption::reopen().
/// Older versions that cannot be decrypted, since their key has been dropped, are hidden by counting their time as compacted.
std::unique_ptr<store::Engine> make_encrypting_engine(std::unique_ptr<store::Engine> engine, std::shared_ptr<StorageEncryption> encryption);

}  // namespace porthole::apiserver
