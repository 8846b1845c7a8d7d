#include "net/tls/crypto.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/hmac.h>
#include <openssl/kdf.h>
#include <openssl/pem.h>
#include <openssl/rand.h>

#include "base/base64.h"
#include "base/result.h"
#include "net/tls/openssl.h"
#include "net/tls/x509.h"

namespace porthole::net {
namespace {

using CipherContextPointer = OpensslPointer<EVP_CIPHER_CTX, EVP_CIPHER_CTX_free>;
using NumberPointer = OpensslPointer<BIGNUM, BN_free>;
using EcSignaturePointer = OpensslPointer<ECDSA_SIG, ECDSA_SIG_free>;

constexpr std::size_t NonceSize = 12, TagSize = 16, BlockSize = 16;
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

/// The cipher for a key of that size. Requires: 16, 24 or 32.
const EVP_CIPHER* by_key_size(std::string_view key, const EVP_CIPHER* bits_128, const EVP_CIPHER* bits_192, const EVP_CIPHER* bits_256) {
    CHECK(key.size() == 16 || key.size() == 24 || key.size() == 32);
    if (key.size() == 16) return bits_128;
    return key.size() == 24 ? bits_192 : bits_256;
}
const EVP_CIPHER* aes_gcm(std::string_view key) { return by_key_size(key, EVP_aes_128_gcm(), EVP_aes_192_gcm(), EVP_aes_256_gcm()); }
const EVP_CIPHER* aes_cbc(std::string_view key) { return by_key_size(key, EVP_aes_128_cbc(), EVP_aes_192_cbc(), EVP_aes_256_cbc()); }

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
    std::string sealed(NonceSize, '\0');
    CHECK(RAND_bytes(octets(sealed), NonceSize) == 1);
    const CipherContextPointer cipher(EVP_CIPHER_CTX_new());
    int size = 0;
    CHECK(EVP_EncryptInit_ex(cipher.get(), aes_gcm(key), nullptr, octets(key), octets(sealed)) == 1);
    EVP_EncryptUpdate(cipher.get(), nullptr, &size, octets(context), static_cast<int>(context.size()));
    sealed.resize(NonceSize + plaintext.size() + TagSize);
    unsigned char* out = octets(sealed) + NonceSize;
    EVP_EncryptUpdate(cipher.get(), out, &size, octets(plaintext), static_cast<int>(plaintext.size()));
    EVP_EncryptFinal_ex(cipher.get(), out + size, &size);
    EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_GET_TAG, TagSize, out + plaintext.size());
    return sealed;
}

Result<std::string> open_aes_gcm(std::string_view key, std::string_view sealed, std::string_view context) {
    const Error refused(Reason::Forbidden, "cannot be decrypted with this key");
    if (sealed.size() < NonceSize + TagSize) return refused;
    std::string tag(sealed.substr(sealed.size() - TagSize));
    const std::string_view body = sealed.substr(NonceSize, sealed.size() - NonceSize - TagSize);
    std::string plaintext(body.size(), '\0');
    const CipherContextPointer cipher(EVP_CIPHER_CTX_new());
    int size = 0;
    CHECK(EVP_DecryptInit_ex(cipher.get(), aes_gcm(key), nullptr, octets(key), octets(sealed)) == 1);
    EVP_DecryptUpdate(cipher.get(), nullptr, &size, octets(context), static_cast<int>(context.size()));
    EVP_DecryptUpdate(cipher.get(), octets(plaintext), &size, octets(body), static_cast<int>(body.size()));
    EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_SET_TAG, TagSize, tag.data());
    if (EVP_DecryptFinal_ex(cipher.get(), octets(plaintext) + size, &size) != 1) return refused;
    return plaintext;
}

std::string seal_aes_cbc(std::string_view key, std::string_view plaintext) {
    std::string sealed = random_bytes(BlockSize);
    const CipherContextPointer cipher(EVP_CIPHER_CTX_new());
    int size = 0, last = 0;
    CHECK(EVP_EncryptInit_ex(cipher.get(), aes_cbc(key), nullptr, octets(key), octets(sealed)) == 1);
    sealed.resize(BlockSize + plaintext.size() + BlockSize);
    unsigned char* out = octets(sealed) + BlockSize;
    CHECK(EVP_EncryptUpdate(cipher.get(), out, &size, octets(plaintext), static_cast<int>(plaintext.size())) == 1);
    CHECK(EVP_EncryptFinal_ex(cipher.get(), out + size, &last) == 1);
    sealed.resize(BlockSize + static_cast<std::size_t>(size + last));
    return sealed;
}

Result<std::string> open_aes_cbc(std::string_view key, std::string_view sealed) {
    const Error refused(Reason::Forbidden, "cannot be decrypted with this key");
    if (sealed.size() < 2 * BlockSize || sealed.size() % BlockSize != 0) return refused;
    const std::string_view body = sealed.substr(BlockSize);
    std::string plaintext(body.size() + BlockSize, '\0');
    const CipherContextPointer cipher(EVP_CIPHER_CTX_new());
    int size = 0, last = 0;
    CHECK(EVP_DecryptInit_ex(cipher.get(), aes_cbc(key), nullptr, octets(key), octets(sealed)) == 1);
    CHECK(EVP_DecryptUpdate(cipher.get(), octets(plaintext), &size, octets(body), static_cast<int>(body.size())) == 1);
    if (EVP_DecryptFinal_ex(cipher.get(), octets(plaintext) + size, &last) != 1) return refused;
    plaintext.resize(static_cast<std::size_t>(size + last));
    return plaintext;
}

std::string hkdf_sha256_expand(std::string_view key, std::string_view info, std::size_t size) {
    const KeyContextPointer context(EVP_PKEY_CTX_new_id(EVP_PKEY_HKDF, nullptr));
    std::string derived(size, '\0');
    CHECK(EVP_PKEY_derive_init(context.get()) == 1);
    CHECK(EVP_PKEY_CTX_set_hkdf_mode(context.get(), EVP_PKEY_HKDEF_MODE_EXPAND_ONLY) == 1);
    CHECK(EVP_PKEY_CTX_set_hkdf_md(context.get(), EVP_sha256()) == 1);
    CHECK(EVP_PKEY_CTX_set1_hkdf_key(context.get(), octets(key), static_cast<int>(key.size())) == 1);
    CHECK(EVP_PKEY_CTX_add1_hkdf_info(context.get(), octets(info), static_cast<int>(info.size())) == 1);
    CHECK(EVP_PKEY_derive(context.get(), octets(derived), &size) == 1);
    return derived;
}

std::string random_bytes(std::size_t size) {
    std::string bytes(size, '\0');
    CHECK(RAND_bytes(octets(bytes), static_cast<int>(size)) == 1);
    return bytes;
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
    TRY(auto key, checked(PEM_read_bio_PUBKEY(bio.get(), nullptr, no_password, nullptr)));
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

std::string sign_detached_jws(std::string_view payload, std::string_view key_id, std::string_view secret) {
    const std::string header = encode_base64url(R"({"alg":"HS256","kid":")" + std::string(key_id) + "\"}");
    return header + ".." + encode_base64url(hmac_sha256(secret, header + "." + encode_base64url(payload)));
}

bool verify_detached_jws(std::string_view signature, std::string_view payload, std::string_view key_id, std::string_view secret) {
    // Only one header is ever written, so signing again is verifying; HMAC has one signature for one text.
    return equal_in_constant_time(signature, sign_detached_jws(payload, key_id, secret));
}

struct Sha256::Context {
    DigestContextPointer digest{EVP_MD_CTX_new()};
    void start() { CHECK(EVP_DigestInit_ex(digest.get(), EVP_sha256(), nullptr) == 1); }
};

Sha256::Sha256() : context_(std::make_unique<Context>()) { context_->start(); }
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;
Sha256::~Sha256() = default;

void Sha256::update(std::string_view bytes) { CHECK(EVP_DigestUpdate(context_->digest.get(), bytes.data(), bytes.size()) == 1); }

std::string Sha256::finish_hex() {
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    CHECK(EVP_DigestFinal_ex(context_->digest.get(), digest, &size) == 1);
    context_->start();
    return to_hex({reinterpret_cast<const char*>(digest), size});
}

std::string sha256_hex(std::string_view bytes) {
    Sha256 hash;
    hash.update(bytes);
    return hash.finish_hex();
}

}  // namespace porthole::net
