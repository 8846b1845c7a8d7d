#pragma once
#include <string>
#include <string_view>

#include "base/result.h"

namespace porthole::net {

/// The keys that new ones can be.
enum class KeyType : std::uint8_t { EcP256, EcP384, EcP521, Rsa3072, Rsa4096, Ed25519 };

/// A public key, by its algorithm. Any thread.
struct PublicKeyInfo {
    enum class Algorithm : std::uint8_t { Ec, Rsa, Ed25519, Other };
    Algorithm algorithm = Algorithm::Other;
    int bits = 0;
    std::string curve;  ///< of Algorithm::Ec: "P-256"; "" if it has no name
};

/// Of a SubjectPublicKeyInfo in DER with nothing behind it. Error: BadRequest.
Result<PublicKeyInfo> parse_public_key(const std::string& der);

/// Whether `signature` is one of `message` by the key: Ed25519, ECDSA in ASN.1 or RSA-PSS, the last two with SHA-256.
bool is_signature(const std::string& public_der, std::string_view message, std::string_view signature);

}  // namespace porthole::net
