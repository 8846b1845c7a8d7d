#pragma once
#include <memory>
#include <string>

#include "apiserver/encryption/storage_encryption.h"
#include "store/etcd/stored_form.h"

namespace porthole::apiserver {

/// The form of the API server's objects in etcd: under upstream's keys, as JSON, which upstream's server also reads, encrypted by
/// `encryption`. Protobuf written by upstream's server is read, and becomes JSON with the next write. A value that cannot be read is an
/// unreadable value (encrypting_engine.h) until it is written again.
///
/// `prefix` of all keys in etcd has no trailing slash. The whole key in etcd becomes the context of a value's encryption.
std::shared_ptr<store::etcd::StoredForm> make_etcd_form(std::shared_ptr<StorageEncryption> encryption, std::string prefix);

}  // namespace porthole::apiserver
