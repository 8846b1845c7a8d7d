#pragma once
#include <memory>

#include "apiserver/encryption/storage_encryption.h"
#include "store/etcd/stored_form.h"

namespace porthole::apiserver {

/// How the API server's objects lie in etcd: under upstream's keys, as JSON, which upstream's server reads, too, encrypted as
/// `encryption` says. What upstream's server has stored as protobuf is read, and becomes JSON when it is written. A value that cannot be
/// read is an unreadable value (encrypting_engine.h) until it is written again.
std::shared_ptr<store::etcd::StoredForm> make_etcd_form(std::shared_ptr<StorageEncryption> encryption);

}  // namespace porthole::apiserver
