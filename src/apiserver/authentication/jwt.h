#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "net/tls/jws_verifier.h"
#include "schema/value.h"

namespace porthole::apiserver {

/// The parts of a JSON Web Token; none of it is verified.
struct Jwt {
    std::string algorithm, key_id;  ///< of the header; the id may be empty
    schema::Value claims;           ///< an object
    std::string signed_part, signature;
};
/// nullopt for a text that does not have the three parts of such a token, such as other kinds of tokens, and for a header with `crit`,
/// since no extension is supported (RFC 7515).
std::optional<Jwt> parse_jwt(std::string_view token);

/// A member of a JWK set that signs.
struct JsonWebKey {
    std::string id, algorithm;  ///< "" if not in the set
    net::JwsVerifier key;
};
/// The keys of a set that can verify signatures; others are ignored. At most 100. Error: BadRequest if it is not a JWK set.
Result<std::vector<JsonWebKey>> parse_json_web_keys(std::string_view text);

/// Whether one of the keys has signed the token: the one that it names, or any where it names none. A key that is meant for another
/// algorithm does not count.
bool is_signed_by(const Jwt& token, const std::vector<JsonWebKey>& keys);

}  // namespace porthole::apiserver
