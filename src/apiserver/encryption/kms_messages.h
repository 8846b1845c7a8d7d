#pragma once  // private to this folder, and for fuzzing
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

/// The messages of a KMS v2 plug-in (k8s.io/kms/apis/v2) and the envelope of a stored value, as protobuf. Every decoder refuses malformed
/// input with InternalError.
namespace porthole::apiserver::kms {

using Annotations = std::map<std::string, std::string>;

/// The answer of Status.
struct Status {
    std::string version, healthz, key_id;
};
Result<Status> decode_status(std::string_view bytes);

std::string encode_encrypt_request(std::string_view plaintext, std::string_view uid);
/// The answer of Encrypt, which is the input of Decrypt.
struct Encrypted {
    std::string ciphertext, key_id;
    Annotations annotations;
};
Result<Encrypted> decode_encrypt_response(std::string_view bytes);

std::string encode_decrypt_request(const Encrypted& encrypted, std::string_view uid);
Result<std::string> decode_decrypt_response(std::string_view bytes);

/// The content after "k8s:enc:kms:v2:NAME:".
struct EncryptedObject {
    enum class Source : std::int32_t {
        AesGcmKey = 0,  ///< the encrypted bytes are the key of the data
        HkdfSeed = 1,   ///< a seed, from which each value's key is derived
    };
    std::string data;
    Encrypted source;  ///< the key or seed as the plug-in encrypted it
    Source source_type = Source::AesGcmKey;
};
std::string encode_object(const EncryptedObject& object);
/// Also refuses what upstream's ValidateEncryptedObject refuses.
Result<EncryptedObject> decode_object(std::string_view bytes);
/// Error: InternalError for a plug-in's answer that breaks KMS' limits.
Result<void> check_limits(const Encrypted& encrypted);

}  // namespace porthole::apiserver::kms
