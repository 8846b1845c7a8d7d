#pragma once
#include <memory>

#include "apiserver/encryption/storage_cipher.h"
#include "base/log.h"

namespace porthole::apiserver {

/// The cipher of a KMS v2 plug-in, which is called by gRPC over a Unix socket. See apiserver: pkg/storage/value/encrypt/envelope/kmsv2.
///
/// The plug-in encrypts a random seed, from which the AES-256-GCM key of each value is derived (HKDF); the encrypted seed is stored with
/// each value. So one call serves all writes until the plug-in's key changes, and one call decrypts all values of one seed at start. The
/// plug-in's status is read once a minute; if it has not been healthy for three minutes, writes are refused. Waits for the first status,
/// for at most the provider's timeout; an unreachable plug-in is not an error here.
///
/// Calls run on the cipher's own thread, so that any thread may wait for them. Destroying it ends them.
std::shared_ptr<StorageCipher> make_kms_cipher(const EncryptionProvider& provider, Logger log);

}  // namespace porthole::apiserver
