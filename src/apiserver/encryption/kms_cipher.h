#pragma once
#include <memory>

#include "apiserver/encryption/storage_cipher.h"
#include "base/log.h"

namespace porthole::apiserver {

/// The cipher of a KMS v2 plug-in, which is asked by gRPC over a Unix socket. See apiserver: pkg/storage/value/encrypt/envelope/kmsv2.
///
/// The plug-in encrypts a random seed, of which each value's own AES-256-GCM key is derived (HKDF); the encrypted seed stands next to each
/// value. So one call serves all writes until the plug-in's key changes, and one call all values of one seed at start. The plug-in's status
/// is asked once a minute; when it has not been well for three minutes, writes are refused. Waits for the first status, for at most the
/// provider's timeout; an unreachable plug-in is not an error here.
///
/// Calls run on a thread of the cipher's own, so that those who wait may be of any thread. Destroying it ends them.
std::shared_ptr<StorageCipher> make_kms_cipher(const EncryptionProvider& provider, Logger log);

}  // namespace porthole::apiserver
