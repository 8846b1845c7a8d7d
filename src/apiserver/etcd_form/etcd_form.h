#pragma once
#include <memory>
#include <string>

#include "apiserver/encryption/storage_encryption.h"
#include "store/etcd/stored_form.h"

namespace porthole::apiserver {

/// How the API server's objects lie in etcd: under upstream's keys, as JSON, which upstream's server reads, too, encrypted as
/// `encryption` says. What upstream's server has stored as protobuf is read, and becomes JSON when it is written. A value that cannot be
/// read is an unreadable value (encrypting_engine.h) until it is written again.
///
/// `prefix` of all keys in etcd, without a slash at its end: the whole key there becomes the context of a value's encryption.
std::shared_ptr<store::etcd::StoredForm> make_etcd_form(std::shared_ptr<StorageEncryption> encryption, std::string prefix);

}  // namespace porthole::apiserver
