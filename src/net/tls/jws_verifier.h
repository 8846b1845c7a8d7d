#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace porthole::net {

/// A public key of another issuer of JSON Web Signatures. It can only verify. Copies share the key; any thread.
class JwsVerifier {
public:
    /// RSA of 2048 to 8192 bits, from the numbers' bytes. Error: BadRequest.
    static Result<JwsVerifier> from_rsa(std::string_view modulus, std::string_view exponent);
    /// A point of "P-256", "P-384" or "P-521", from its coordinates' bytes. Error: BadRequest.
    static Result<JwsVerifier> from_ec(std::string_view curve, std::string_view x, std::string_view y);

    /// Whether `signature` is a signature of `bytes` by this key with `algorithm` ("RS256" and the like). False also for an algorithm that
    /// does not match the key.
    bool verify(std::string_view algorithm, std::string_view bytes, std::string_view signature) const;

private:
    explicit JwsVerifier(std::shared_ptr<void> key) : key_(std::move(key)) {}
    std::shared_ptr<void> key_;  ///< OpenSSL's EVP_PKEY
};

/// RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384 or ES512.
bool is_jws_algorithm(std::string_view name);

}  // namespace porthole::net
