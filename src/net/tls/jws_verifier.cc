#include "net/tls/jws_verifier.h"

#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/param_build.h>
#include <openssl/rsa.h>

#include <algorithm>

#include "net/tls/openssl.h"

namespace porthole::net {
namespace {

using NumberPointer = OpensslPointer<BIGNUM, BN_free>;
using EcSignaturePointer = OpensslPointer<ECDSA_SIG, ECDSA_SIG_free>;
using BuilderPointer = OpensslPointer<OSSL_PARAM_BLD, OSSL_PARAM_BLD_free>;
using ParametersPointer = OpensslPointer<OSSL_PARAM, OSSL_PARAM_free>;

constexpr int LeastRsaBits = 2048, MostRsaBits = 8192;
constexpr std::size_t MostExponentBytes = 8;

struct Curve {
    std::string_view name;
    const char* group;
    std::size_t coordinate;  ///< bytes of a number
};
constexpr Curve Curves[] = {{"P-256", "prime256v1", 32}, {"P-384", "secp384r1", 48}, {"P-521", "secp521r1", 66}};

enum class Scheme { RsaPkcs1, RsaPss, Ec };
struct Algorithm {
    std::string_view name;
    Scheme scheme;
    const EVP_MD* (*digest)();
    std::string_view curve;  ///< of Scheme::Ec
};
constexpr Algorithm Algorithms[] = {
    {"RS256", Scheme::RsaPkcs1, EVP_sha256, ""}, {"RS384", Scheme::RsaPkcs1, EVP_sha384, ""}, {"RS512", Scheme::RsaPkcs1, EVP_sha512, ""},
    {"PS256", Scheme::RsaPss, EVP_sha256, ""},   {"PS384", Scheme::RsaPss, EVP_sha384, ""},   {"PS512", Scheme::RsaPss, EVP_sha512, ""},
    {"ES256", Scheme::Ec, EVP_sha256, "P-256"},  {"ES384", Scheme::Ec, EVP_sha384, "P-384"},  {"ES512", Scheme::Ec, EVP_sha512, "P-521"},
};

const unsigned char* first_byte(std::string_view bytes) { return reinterpret_cast<const unsigned char*>(bytes.data()); }
EVP_PKEY* native_of(const std::shared_ptr<void>& key) { return static_cast<EVP_PKEY*>(key.get()); }
NumberPointer number(std::string_view bytes) {
    return NumberPointer(BN_bin2bn(first_byte(bytes), static_cast<int>(bytes.size()), nullptr));
}

Result<std::shared_ptr<void>> build(const char* type, OSSL_PARAM_BLD* builder) {
    const ParametersPointer parameters(OSSL_PARAM_BLD_to_param(builder));
    const KeyContextPointer context(EVP_PKEY_CTX_new_from_name(nullptr, type, nullptr));
    EVP_PKEY* key = nullptr;
    const bool built = parameters && context && EVP_PKEY_fromdata_init(context.get()) == 1 &&
                       EVP_PKEY_fromdata(context.get(), &key, EVP_PKEY_PUBLIC_KEY, parameters.get()) == 1;
    ERR_clear_error();
    if (!built) return Error(Reason::BadRequest, "invalid key parameters");
    return std::shared_ptr<void>(key, [](void* k) { EVP_PKEY_free(static_cast<EVP_PKEY*>(k)); });
}

/// The curve of an EC key; null for other keys.
const Curve* curve_of(EVP_PKEY* key) {
    char group[80] = "";
    if (EVP_PKEY_get_base_id(key) != EVP_PKEY_EC || EVP_PKEY_get_group_name(key, group, sizeof group, nullptr) != 1) return nullptr;
    const auto found = std::ranges::find(Curves, std::string_view(group), [](const Curve& curve) { return std::string_view(curve.group); });
    return found == std::end(Curves) ? nullptr : found;
}

/// JWS has the two numbers side by side where OpenSSL wants a DER sequence. "" when the size is another.
std::string der_of(std::string_view signature, std::size_t coordinate) {
    if (signature.size() != 2 * coordinate) return {};
    const EcSignaturePointer pair(ECDSA_SIG_new());
    NumberPointer r = number(signature.substr(0, coordinate)), s = number(signature.substr(coordinate));
    if (!pair || !r || !s || ECDSA_SIG_set0(pair.get(), r.release(), s.release()) != 1) return {};
    const int size = i2d_ECDSA_SIG(pair.get(), nullptr);
    if (size <= 0) return {};
    std::string der(static_cast<std::size_t>(size), '\0');
    auto* at = reinterpret_cast<unsigned char*>(der.data());
    i2d_ECDSA_SIG(pair.get(), &at);
    return der;
}

bool verify_with(EVP_PKEY* key, const Algorithm& algorithm, std::string_view bytes, std::string_view signature) {
    const DigestContextPointer context(EVP_MD_CTX_new());
    EVP_PKEY_CTX* parameters = nullptr;
    if (!context || EVP_DigestVerifyInit(context.get(), &parameters, algorithm.digest(), nullptr, key) != 1) return false;
    if (algorithm.scheme == Scheme::RsaPss && (EVP_PKEY_CTX_set_rsa_padding(parameters, RSA_PKCS1_PSS_PADDING) != 1 ||
                                               EVP_PKEY_CTX_set_rsa_pss_saltlen(parameters, RSA_PSS_SALTLEN_DIGEST) != 1))
        return false;
    return EVP_DigestVerify(context.get(), first_byte(signature), signature.size(), first_byte(bytes), bytes.size()) == 1;
}

}  // namespace

bool is_jws_algorithm(std::string_view name) { return std::ranges::find(Algorithms, name, &Algorithm::name) != std::end(Algorithms); }

Result<JwsVerifier> JwsVerifier::from_rsa(std::string_view modulus, std::string_view exponent) {
    if (modulus.size() > MostRsaBits / 8 + 1 || exponent.empty() || exponent.size() > MostExponentBytes)
        return Error(Reason::BadRequest, "invalid key parameters");
    const NumberPointer n = number(modulus), e = number(exponent);
    const int bits = BN_num_bits(n.get());
    if (bits < LeastRsaBits || bits > MostRsaBits) return Error(Reason::BadRequest, "an RSA key must have 2048 to 8192 bits");
    if (!BN_is_odd(e.get()) || BN_is_one(e.get()) || !BN_is_odd(n.get())) return Error(Reason::BadRequest, "invalid key parameters");
    const BuilderPointer builder(OSSL_PARAM_BLD_new());
    OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_N, n.get());
    OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_E, e.get());
    TRY(auto key, build("RSA", builder.get()));
    return JwsVerifier(std::move(key));
}

Result<JwsVerifier> JwsVerifier::from_ec(std::string_view curve, std::string_view x, std::string_view y) {
    const auto found = std::ranges::find(Curves, curve, &Curve::name);
    if (found == std::end(Curves)) return Error(Reason::BadRequest, "the curve must be P-256, P-384 or P-521");
    if (x.size() != found->coordinate || y.size() != found->coordinate)
        return Error(Reason::BadRequest, "not a point of " + std::string(curve));
    const std::string point = std::string("\x04").append(x).append(y);  // uncompressed
    const BuilderPointer builder(OSSL_PARAM_BLD_new());
    OSSL_PARAM_BLD_push_utf8_string(builder.get(), OSSL_PKEY_PARAM_GROUP_NAME, found->group, 0);
    OSSL_PARAM_BLD_push_octet_string(builder.get(), OSSL_PKEY_PARAM_PUB_KEY, point.data(), point.size());
    TRY(auto key, build("EC", builder.get()));
    return JwsVerifier(std::move(key));
}

bool JwsVerifier::verify(std::string_view algorithm, std::string_view bytes, std::string_view signature) const {
    const auto chosen = std::ranges::find(Algorithms, algorithm, &Algorithm::name);
    if (chosen == std::end(Algorithms)) return false;
    EVP_PKEY* key = native_of(key_);
    bool good = false;
    if (chosen->scheme == Scheme::Ec) {
        const Curve* curve = curve_of(key);
        if (!curve || curve->name != chosen->curve) return false;
        const std::string der = der_of(signature, curve->coordinate);
        good = !der.empty() && verify_with(key, *chosen, bytes, der);
    } else {
        // As long as the modulus (RFC 8017): OpenSSL takes a signature without its leading zeros, too.
        good = EVP_PKEY_get_base_id(key) == EVP_PKEY_RSA && signature.size() == static_cast<std::size_t>(EVP_PKEY_get_size(key)) &&
               verify_with(key, *chosen, bytes, signature);
    }
    ERR_clear_error();
    return good;
}

}  // namespace porthole::net
