#include "net/crypto.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/hmac.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>
#include <openssl/rand.h>

#include "base/base64.h"
#include "net/openssl.h"
#include "net/x509.h"

namespace porthole::net {
namespace {

using CipherContextPointer = OpensslPointer<EVP_CIPHER_CTX, EVP_CIPHER_CTX_free>;
using NumberPointer = OpensslPointer<BIGNUM, BN_free>;
using EcSignaturePointer = OpensslPointer<ECDSA_SIG, ECDSA_SIG_free>;
using BuilderPointer = OpensslPointer<OSSL_PARAM_BLD, OSSL_PARAM_BLD_free>;
using ParametersPointer = OpensslPointer<OSSL_PARAM, OSSL_PARAM_free>;

constexpr std::size_t NonceSize = 12, TagSize = 16, KeySize = 32;
constexpr std::size_t CoordinateSize = 32;  ///< bytes of a number of P-256

const unsigned char* octets(std::string_view bytes) { return reinterpret_cast<const unsigned char*>(bytes.data()); }
unsigned char* octets(std::string& bytes) { return reinterpret_cast<unsigned char*>(bytes.data()); }
EVP_PKEY* native(const std::shared_ptr<void>& key) { return static_cast<EVP_PKEY*>(key.get()); }

std::string to_bytes(const BIGNUM* number, std::size_t size) {
    std::string bytes(size, '\0');
    BN_bn2binpad(number, octets(bytes), static_cast<int>(size));
    return bytes;
}

std::string number_of(EVP_PKEY* key, const char* name, std::size_t size) {
    BIGNUM* number = nullptr;
    CHECK(EVP_PKEY_get_bn_param(key, name, &number) == 1);
    const NumberPointer owner(number);
    return to_bytes(number, size ? size : static_cast<std::size_t>(BN_num_bytes(number)));
}

std::shared_ptr<void> own(EVP_PKEY* key) {
    return {key, [](void* k) { EVP_PKEY_free(static_cast<EVP_PKEY*>(k)); }};
}

bool is_supported(EVP_PKEY* key) {
    if (EVP_PKEY_get_base_id(key) == EVP_PKEY_RSA) return EVP_PKEY_get_bits(key) >= 2048;
    char group[80] = "";
    return EVP_PKEY_get_base_id(key) == EVP_PKEY_EC && EVP_PKEY_get_group_name(key, group, sizeof group, nullptr) == 1 &&
           std::string_view(group) == "prime256v1";
}

Result<std::shared_ptr<void>> checked(EVP_PKEY* key) {
    ERR_clear_error();
    if (!key) return Error(Reason::BadRequest, "not a key in PEM");
    auto owner = own(key);
    if (!is_supported(key)) return Error(Reason::BadRequest, "only keys of EC P-256 or RSA of 2048 bits and more are supported");
    return owner;
}

Result<std::shared_ptr<void>> build_public(const char* type, OSSL_PARAM_BLD* builder) {
    const ParametersPointer parameters(OSSL_PARAM_BLD_to_param(builder));
    const KeyContextPointer context(EVP_PKEY_CTX_new_from_name(nullptr, type, nullptr));
    EVP_PKEY* key = nullptr;
    EVP_PKEY_fromdata_init(context.get());
    if (EVP_PKEY_fromdata(context.get(), &key, EVP_PKEY_PUBLIC_KEY, parameters.get()) != 1) {
        ERR_clear_error();
        return Error(Reason::BadRequest, "invalid key parameters");
    }
    return checked(key);
}

/// JWS wants the two numbers side by side where OpenSSL has a DER sequence.
std::string jws_from_der(std::string_view der) {
    const unsigned char* at = octets(der);
    const EcSignaturePointer signature(d2i_ECDSA_SIG(nullptr, &at, static_cast<long>(der.size())));
    return to_bytes(ECDSA_SIG_get0_r(signature.get()), CoordinateSize) + to_bytes(ECDSA_SIG_get0_s(signature.get()), CoordinateSize);
}

std::string der_from_jws(std::string_view jws) {
    if (jws.size() != 2 * CoordinateSize) return {};
    const EcSignaturePointer signature(ECDSA_SIG_new());
    ECDSA_SIG_set0(signature.get(), BN_bin2bn(octets(jws), CoordinateSize, nullptr),
                   BN_bin2bn(octets(jws) + CoordinateSize, CoordinateSize, nullptr));
    std::string der(static_cast<std::size_t>(i2d_ECDSA_SIG(signature.get(), nullptr)), '\0');
    unsigned char* at = octets(der);
    i2d_ECDSA_SIG(signature.get(), &at);
    return der;
}

}  // namespace

std::string hmac_sha256(std::string_view key, std::string_view bytes) {
    std::string digest(32, '\0');
    unsigned size = 32;
    CHECK(HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), octets(bytes), bytes.size(), octets(digest), &size));
    return digest;
}

bool equal_in_constant_time(std::string_view a, std::string_view b) {
    return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::string seal_aes_gcm(std::string_view key, std::string_view plaintext, std::string_view context) {
    CHECK(key.size() == KeySize);
    std::string sealed(NonceSize, '\0');
    CHECK(RAND_bytes(octets(sealed), NonceSize) == 1);
    const CipherContextPointer cipher(EVP_CIPHER_CTX_new());
    int size = 0;
    CHECK(EVP_EncryptInit_ex(cipher.get(), EVP_aes_256_gcm(), nullptr, octets(key), octets(sealed)) == 1);
    EVP_EncryptUpdate(cipher.get(), nullptr, &size, octets(context), static_cast<int>(context.size()));
    sealed.resize(NonceSize + plaintext.size() + TagSize);
    unsigned char* out = octets(sealed) + NonceSize;
    EVP_EncryptUpdate(cipher.get(), out, &size, octets(plaintext), static_cast<int>(plaintext.size()));
    EVP_EncryptFinal_ex(cipher.get(), out + size, &size);
    EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_GET_TAG, TagSize, out + plaintext.size());
    return sealed;
}

Result<std::string> open_aes_gcm(std::string_view key, std::string_view sealed, std::string_view context) {
    CHECK(key.size() == KeySize);
    const Error refused(Reason::Forbidden, "cannot be decrypted with this key");
    if (sealed.size() < NonceSize + TagSize) return refused;
    std::string tag(sealed.substr(sealed.size() - TagSize));
    const std::string_view body = sealed.substr(NonceSize, sealed.size() - NonceSize - TagSize);
    std::string plaintext(body.size(), '\0');
    const CipherContextPointer cipher(EVP_CIPHER_CTX_new());
    int size = 0;
    CHECK(EVP_DecryptInit_ex(cipher.get(), EVP_aes_256_gcm(), nullptr, octets(key), octets(sealed)) == 1);
    EVP_DecryptUpdate(cipher.get(), nullptr, &size, octets(context), static_cast<int>(context.size()));
    EVP_DecryptUpdate(cipher.get(), octets(plaintext), &size, octets(body), static_cast<int>(body.size()));
    EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_SET_TAG, TagSize, tag.data());
    if (EVP_DecryptFinal_ex(cipher.get(), octets(plaintext) + size, &size) != 1) return refused;
    return plaintext;
}

JwsKey JwsKey::generate_rsa(int bits) {
    EVP_PKEY* key = EVP_RSA_gen(static_cast<unsigned>(bits));
    CHECK(key);
    return JwsKey(own(key), true);
}

Result<JwsKey> JwsKey::from_private_pem(const std::string& pem) {
    TRY(auto parsed, parse_private_key(pem));
    TRY(auto key, checked(parsed.release()));
    return JwsKey(std::move(key), true);
}

Result<JwsKey> JwsKey::from_public_pem(const std::string& pem) {
    const BioPointer bio = read_only_bio(pem);
    if (pem.find("BEGIN CERTIFICATE-----") != pem.npos) {
        TRY(const auto certificates, parse_certificates(pem));
        TRY(auto key, checked(X509_get_pubkey(certificates.front().get())));
        return JwsKey(std::move(key), false);
    }
    TRY(auto key, checked(PEM_read_bio_PUBKEY(bio.get(), nullptr, nullptr, nullptr)));
    return JwsKey(std::move(key), false);
}

Result<JwsKey> JwsKey::from_ec_point(std::string_view x, std::string_view y) {
    if (x.size() != CoordinateSize || y.size() != CoordinateSize) return Error(Reason::BadRequest, "not a point of P-256");
    const std::string point = std::string("\x04").append(x).append(y);  // uncompressed
    const BuilderPointer builder(OSSL_PARAM_BLD_new());
    OSSL_PARAM_BLD_push_utf8_string(builder.get(), OSSL_PKEY_PARAM_GROUP_NAME, "prime256v1", 0);
    OSSL_PARAM_BLD_push_octet_string(builder.get(), OSSL_PKEY_PARAM_PUB_KEY, point.data(), point.size());
    TRY(auto key, build_public("EC", builder.get()));
    return JwsKey(std::move(key), false);
}

Result<JwsKey> JwsKey::from_rsa_numbers(std::string_view n, std::string_view e) {
    const NumberPointer modulus(BN_bin2bn(octets(n), static_cast<int>(n.size()), nullptr));
    const NumberPointer exponent(BN_bin2bn(octets(e), static_cast<int>(e.size()), nullptr));
    const BuilderPointer builder(OSSL_PARAM_BLD_new());
    OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_N, modulus.get());
    OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_E, exponent.get());
    TRY(auto key, build_public("RSA", builder.get()));
    return JwsKey(std::move(key), false);
}

JwsKey::Kind JwsKey::kind() const { return EVP_PKEY_get_base_id(native(key_)) == EVP_PKEY_RSA ? Kind::Rsa : Kind::EcP256; }

std::string JwsKey::private_pem() const {
    CHECK(is_private_);
    const BioPointer bio(BIO_new(BIO_s_mem()));
    PEM_write_bio_PKCS8PrivateKey(bio.get(), native(key_), nullptr, nullptr, 0, nullptr, nullptr);
    return bio_to_string(bio.get());
}

std::string JwsKey::public_pem() const {
    const BioPointer bio(BIO_new(BIO_s_mem()));
    PEM_write_bio_PUBKEY(bio.get(), native(key_));
    return bio_to_string(bio.get());
}

std::string JwsKey::public_der() const {
    const BioPointer bio(BIO_new(BIO_s_mem()));
    i2d_PUBKEY_bio(bio.get(), native(key_));
    return bio_to_string(bio.get());
}

std::string JwsKey::key_id() const { return encode_base64url(sha256(public_der())); }

std::string JwsKey::jwk_json() const {
    const auto member = [](const char* name, const std::string& value) { return std::string("\"") + name + "\":\"" + value + "\""; };
    std::string json = "{" + member("use", "sig") + "," + member("kid", key_id()) + "," + member("alg", algorithm()) + ",";
    if (kind() == Kind::EcP256) {
        json += member("kty", "EC") + "," + member("crv", "P-256") + ",";
        json += member("x", encode_base64url(number_of(native(key_), OSSL_PKEY_PARAM_EC_PUB_X, CoordinateSize))) + ",";
        json += member("y", encode_base64url(number_of(native(key_), OSSL_PKEY_PARAM_EC_PUB_Y, CoordinateSize)));
    } else {
        json += member("kty", "RSA") + ",";
        json += member("n", encode_base64url(number_of(native(key_), OSSL_PKEY_PARAM_RSA_N, 0))) + ",";
        json += member("e", encode_base64url(number_of(native(key_), OSSL_PKEY_PARAM_RSA_E, 0)));
    }
    return json + "}";
}

std::string JwsKey::sign(std::string_view bytes) const {
    CHECK(is_private_);
    const DigestContextPointer context(EVP_MD_CTX_new());
    CHECK(EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, native(key_)) == 1);
    std::size_t size = 0;
    EVP_DigestSign(context.get(), nullptr, &size, octets(bytes), bytes.size());
    std::string signature(size, '\0');
    CHECK(EVP_DigestSign(context.get(), octets(signature), &size, octets(bytes), bytes.size()) == 1);
    signature.resize(size);
    return kind() == Kind::EcP256 ? jws_from_der(signature) : signature;
}

bool JwsKey::verify(std::string_view bytes, std::string_view signature) const {
    const std::string native_form = kind() == Kind::EcP256 ? der_from_jws(signature) : std::string(signature);
    const DigestContextPointer context(EVP_MD_CTX_new());
    EVP_DigestVerifyInit(context.get(), nullptr, EVP_sha256(), nullptr, native(key_));
    const bool good = EVP_DigestVerify(context.get(), octets(native_form), native_form.size(), octets(bytes), bytes.size()) == 1;
    ERR_clear_error();
    return good;
}

}  // namespace porthole::net
