#include "apiserver/authentication/signing_key.h"

#include "schema/json/json.h"

namespace porthole::apiserver {

TokenKey make_token_key(net::JwsKey key) {
    CHECK(key.is_private());
    auto jwk = schema::parse_json(key.jwk_json());
    CHECK(jwk.has_value());
    TokenKey result;
    result.algorithm = key.algorithm();
    result.id = key.key_id();
    result.jwk = std::move(*jwk);
    result.sign = [key](std::string_view bytes) -> Result<std::string> { return key.sign(bytes); };
    result.verify = [key](std::string_view bytes, std::string_view signature) { return key.verify(bytes, signature); };
    return result;
}

}  // namespace porthole::apiserver
