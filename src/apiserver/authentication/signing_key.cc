#include "apiserver/authentication/signing_key.h"

#include "apiserver/authentication/base64url.h"

namespace porthole::apiserver {

TokenKey es256_token_key(net::PrivateKey key) {
    const std::string id = encode_base64url(net::sha256(key.public_der()));
    const auto [x, y] = key.public_point();
    TokenKey result;
    result.algorithm = "ES256";
    result.id = id;
    result.jwk = schema::Value::object({{"use", "sig"},
                                        {"kty", "EC"},
                                        {"kid", id},
                                        {"crv", "P-256"},
                                        {"alg", "ES256"},
                                        {"x", encode_base64url(x)},
                                        {"y", encode_base64url(y)}});
    result.sign = [key](std::string_view bytes) -> Result<std::string> { return key.sign_es256(bytes); };
    result.verify = [key](std::string_view bytes, std::string_view signature) { return key.verify_es256(bytes, signature); };
    return result;
}

}  // namespace porthole::apiserver
