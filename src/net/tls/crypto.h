#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace porthole::net {

// Keys, texts and signatures are byte strings. Any thread.

std::string hmac_sha256(std::string_view key, std::string_view bytes);
/// Compares in time that does not depend on where they differ.
bool equal_in_constant_time(std::string_view a, std::string_view b);

/// AES-GCM with a key of 16, 24 or 32 bytes. Returns a fresh nonce of 12 bytes, the ciphertext, and a tag of 16 bytes. `context` is
/// authenticated but not encrypted; the same one must be given to open it.
std::string seal_aes_gcm(std::string_view key, std::string_view plaintext, std::string_view context);
/// Error: Forbidden if the key, the context or any bit differs.
Result<std::string> open_aes_gcm(std::string_view key, std::string_view sealed, std::string_view context);

/// AES-CBC with a key of 16, 24 or 32 bytes. Returns a fresh vector of 16 bytes, then whole blocks, padded by PKCS #7. Changes are not
/// detected.
std::string seal_aes_cbc(std::string_view key, std::string_view plaintext);
/// Error: Forbidden if the padding is wrong.
Result<std::string> open_aes_cbc(std::string_view key, std::string_view sealed);

/// HKDF-Expand (RFC 5869 §2.3) with SHA-256, from a key that is already random: as many bytes as requested.
std::string hkdf_sha256_expand(std::string_view key, std::string_view info, std::size_t size);

/// Random bytes, suitable for keys.
std::string random_bytes(std::size_t size);

/// A key of JSON Web Signatures, EC P-256 (ES256) or RSA (RS256): a private key, or a public key that can only verify. For keys of other
/// issuers, see JwsVerifier.
class JwsKey {
public:
    enum class Kind { EcP256, Rsa };

    static JwsKey generate_rsa(int bits = 2048);
    /// PKCS #8, SEC 1 or PKCS #1. Error: BadRequest, also for other kinds of keys.
    static Result<JwsKey> from_private_pem(const std::string& pem);
    /// A public key or a certificate.
    static Result<JwsKey> from_public_pem(const std::string& pem);

    Kind kind() const;
    bool is_private() const { return is_private_; }
    std::string private_pem() const;  ///< PKCS #8. Requires: is_private()
    std::string public_pem() const;
    /// The SubjectPublicKeyInfo in DER; its SHA-256 identifies the key.
    std::string public_der() const;
    /// The key id that Kubernetes uses for service-account keys: base64url of the SHA-256 of public_der().
    std::string key_id() const;
    /// {"alg":"ES256",…,"kid":…,"use":"sig"}, one member of a JWK set.
    std::string jwk_json() const;
    /// "ES256" or "RS256".
    const char* algorithm() const { return kind() == Kind::EcP256 ? "ES256" : "RS256"; }

    /// A JWS signature: for ES256 two numbers of 32 bytes each, for RS256 PKCS #1 v1.5. Requires: is_private()
    std::string sign(std::string_view bytes) const;
    bool verify(std::string_view bytes, std::string_view signature) const;

private:
    JwsKey(std::shared_ptr<void> key, bool is_private) : key_(std::move(key)), is_private_(is_private) {}
    std::shared_ptr<void> key_;  ///< OpenSSL's EVP_PKEY
    bool is_private_;
};

/// A detached JSON Web Signature of `payload` ("header..signature", RFC 7515 appendix F), by HS256 with a shared secret. `key_id` tells the
/// reader which secret.
std::string sign_detached_jws(std::string_view payload, std::string_view key_id, std::string_view secret);
/// Whether `signature` is a signature of `payload` by this key. Takes time that does not depend on where they differ.
bool verify_detached_jws(std::string_view signature, std::string_view payload, std::string_view key_id, std::string_view secret);

/// SHA-256 of bytes that arrive in pieces.
class Sha256 {
public:
    Sha256();
    Sha256(Sha256&&) noexcept;
    Sha256& operator=(Sha256&&) noexcept;
    ~Sha256();

    void update(std::string_view bytes);
    /// 64 lower-case hexadecimal digits. Afterwards the object can be used for other bytes.
    std::string finish_hex();

private:
    struct Context;
    std::unique_ptr<Context> context_;
};

/// 64 lower-case hexadecimal digits.
std::string sha256_hex(std::string_view bytes);

}  // namespace porthole::net
