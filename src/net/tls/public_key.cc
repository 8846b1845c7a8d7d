#include "net/tls/public_key.h"

#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/rsa.h>

#include "net/tls/openssl.h"

namespace porthole::net {
namespace {

using KeyAlgorithm = PublicKeyInfo::Algorithm;

/// NIST's name of the curve, if it has one.
std::string curve_name(EVP_PKEY* key) {
    char name[80] = "";
    std::size_t size = 0;
    if (EVP_PKEY_get_utf8_string_param(key, OSSL_PKEY_PARAM_GROUP_NAME, name, sizeof name, &size) != 1) return "";
    const char* nist = EC_curve_nid2nist(OBJ_sn2nid(name));
    return nist ? nist : name;
}

KeyAlgorithm algorithm_of(EVP_PKEY* key) {
    switch (EVP_PKEY_get_base_id(key)) {
        case EVP_PKEY_EC:
            return KeyAlgorithm::Ec;
        case EVP_PKEY_RSA:
            return KeyAlgorithm::Rsa;
        case EVP_PKEY_ED25519:
            return KeyAlgorithm::Ed25519;
        default:
            return KeyAlgorithm::Other;
    }
}

KeyPointer read_key(const std::string& der) {
    const auto* at = reinterpret_cast<const unsigned char*>(der.data());
    const auto* end = at + der.size();
    KeyPointer key(d2i_PUBKEY(nullptr, &at, static_cast<long>(der.size())));
    ERR_clear_error();
    return at == end ? std::move(key) : nullptr;
}

}  // namespace

Result<PublicKeyInfo> parse_public_key(const std::string& der) {
    const KeyPointer key = read_key(der);
    if (!key) return Error(Reason::BadRequest, "bad public key");
    PublicKeyInfo info{.algorithm = algorithm_of(key.get()), .bits = EVP_PKEY_get_bits(key.get())};
    if (info.algorithm == KeyAlgorithm::Ec) info.curve = curve_name(key.get());
    ERR_clear_error();
    return info;
}

bool is_signature(const std::string& public_der, std::string_view message, std::string_view signature) {
    const KeyPointer key = read_key(public_der);
    if (!key) return false;
    const KeyAlgorithm algorithm = algorithm_of(key.get());
    if (algorithm == KeyAlgorithm::Other) return false;
    const DigestContextPointer context(EVP_MD_CTX_new());
    EVP_PKEY_CTX* options = nullptr;  // the context's
    const EVP_MD* digest = algorithm == KeyAlgorithm::Ed25519 ? nullptr : EVP_sha256();
    bool right = EVP_DigestVerifyInit(context.get(), &options, digest, nullptr, key.get()) == 1;
    if (algorithm == KeyAlgorithm::Rsa)
        right = right && EVP_PKEY_CTX_set_rsa_padding(options, RSA_PKCS1_PSS_PADDING) == 1 &&
                EVP_PKEY_CTX_set_rsa_pss_saltlen(options, RSA_PSS_SALTLEN_AUTO) == 1;
    right = right && EVP_DigestVerify(context.get(), reinterpret_cast<const unsigned char*>(signature.data()), signature.size(),
                                      reinterpret_cast<const unsigned char*>(message.data()), message.size()) == 1;
    ERR_clear_error();
    return right;
}

}  // namespace porthole::net
