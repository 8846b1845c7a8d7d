#pragma once  // private to this folder
#include <string>
#include <string_view>

#include "base/result.h"

namespace porthole::apiserver {

/// NaCl's secretbox (XSalsa20-Poly1305) with a key of 32 bytes: a fresh nonce of 24 bytes, a tag of 16, the ciphertext. libsodium does
/// the work. Any thread.
std::string seal_secretbox(std::string_view key, std::string_view plaintext);
/// Error: Forbidden with upstream's message.
Result<std::string> open_secretbox(std::string_view key, std::string_view sealed);

}  // namespace porthole::apiserver
