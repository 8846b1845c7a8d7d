#pragma once
#include <string>
#include <string_view>

namespace porthole::net {

/// A JSON Web Signature over `payload` that does not carry it ("header..signature", RFC 7515 appendix F), by HS256 with a secret
/// that both sides know. `key_id` tells the reader which.
std::string sign_detached_jws(std::string_view payload, std::string_view key_id, std::string_view secret);
/// Whether `signature` is one over `payload` by this key. The time it takes does not depend on where they differ.
bool verify_detached_jws(std::string_view signature, std::string_view payload, std::string_view key_id, std::string_view secret);

}  // namespace porthole::net
