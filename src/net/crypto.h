#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace porthole::net {

// Byte strings throughout; OpenSSL does the work.

std::string hmac_sha256(std::string_view key, std::string_view bytes);
/// Compares in time that does not depend on where they differ.
bool equal_in_constant_time(std::string_view a, std::string_view b);

/// AES-256-GCM with a key of 32 bytes: a fresh nonce of 12 bytes, the ciphertext, a tag of 16 bytes. `context` is not
/// encrypted but must be the same when opened.
std::string seal_aes_gcm(std::string_view key, std::string_view plaintext, std::string_view context);
/// Error: Forbidden when the key, the context or any bit is not the same.
Result<std::string> open_aes_gcm(std::string_view key, std::string_view sealed, std::string_view context);

/// A key of JSON Web Signatures, EC P-256 (ES256) or RSA (RS256): a private one, or a public one that can only verify,
/// as tokens of other issuers need.
class JwsKey {
public:
    enum class Kind { EcP256, Rsa };

    static JwsKey generate_rsa(int bits = 2048);
    /// PKCS #8, SEC 1 or PKCS #1. Error: BadRequest, also for other kinds of keys.
    static Result<JwsKey> from_private_pem(const std::string& pem);
    /// A public key or a certificate.
    static Result<JwsKey> from_public_pem(const std::string& pem);
    /// From the members of a JSON Web Key, base64url-decoded.
    static Result<JwsKey> from_ec_point(std::string_view x, std::string_view y);
    static Result<JwsKey> from_rsa_numbers(std::string_view n, std::string_view e);

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

    /// A JWS signature: for ES256 the two numbers of 32 bytes, for RS256 PKCS #1 v1.5. Requires: is_private()
    std::string sign(std::string_view bytes) const;
    bool verify(std::string_view bytes, std::string_view signature) const;

private:
    JwsKey(std::shared_ptr<void> key, bool is_private) : key_(std::move(key)), is_private_(is_private) {}
    std::shared_ptr<void> key_;  ///< OpenSSL's EVP_PKEY
    bool is_private_;
};

}  // namespace porthole::net
