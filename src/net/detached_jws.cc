#include "net/detached_jws.h"

#include "base/base64.h"
#include "net/crypto.h"

namespace porthole::net {
std::string sign_detached_jws(std::string_view payload, std::string_view key_id, std::string_view secret) {
    const std::string header = encode_base64url(R"({"alg":"HS256","kid":")" + std::string(key_id) + "\"}");
    return header + ".." + encode_base64url(hmac_sha256(secret, header + "." + encode_base64url(payload)));
}

bool verify_detached_jws(std::string_view signature, std::string_view payload, std::string_view key_id, std::string_view secret) {
    // Only one header is ever written, so signing again is verifying; HMAC has one signature for one text.
    return equal_in_constant_time(signature, sign_detached_jws(payload, key_id, secret));
}

}  // namespace porthole::net
