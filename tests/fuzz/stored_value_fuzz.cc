// Values that a disk, or whoever changed it, gives the API server to decrypt.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "apiserver/encryption/kms_messages.h"
#include "apiserver/encryption/value_transformer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace porthole::apiserver;
    using Kind = EncryptionProvider::Kind;
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    const EncryptionProvider::Key key{"k", std::string(32, 'k')};
    static const ValueTransformer transformer({{.kind = Kind::Secretbox, .keys = {key}},
                                               {.kind = Kind::AesGcm, .keys = {key}},
                                               {.kind = Kind::AesCbc, .keys = {key}},
                                               {.kind = Kind::Identity}},
                                              {});
    (void)transformer.open(bytes, "/registry/secrets/ns/a").has_value();
    for (const char* prefix : {"k8s:enc:secretbox:v1:k:", "k8s:enc:aesgcm:v1:k:", "k8s:enc:aescbc:v1:k:"})
        (void)transformer.open(prefix + std::string(bytes), "/registry/secrets/ns/a").has_value();
    if (const auto object = kms::decode_object(bytes)) {
        const auto again = kms::decode_object(kms::encode_object(*object));
        if (!again || again->data != object->data || again->source.annotations != object->source.annotations) __builtin_trap();
    }
    (void)kms::decode_status(bytes).has_value();
    (void)kms::decode_encrypt_response(bytes).has_value();
    (void)kms::decode_decrypt_response(bytes).has_value();
    return 0;
}
