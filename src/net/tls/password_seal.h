#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

/// Seals bytes so that only someone who knows a password can read or create them: AES-256-GCM with a key that scrypt (RFC 7914) derives
/// from the password and a fresh salt. Blocks for about 50 ms and needs 16 MiB during that time. Any thread.
///
/// Format: "porthole-sealed:1:", one byte each for the logarithm of N, r and p, 16 bytes of salt, and the result of seal_aes_gcm(), which
/// also authenticates all the bytes before it.
namespace porthole::net {

std::string seal_with_password(std::string_view password, std::string_view plaintext);
/// Errors: BadRequest for bytes of another format, or with a higher cost than any version of this program uses; Conflict for a newer format
/// version; Forbidden for a wrong password or changed bytes.
Result<std::string> open_with_password(std::string_view password, std::string_view sealed);

/// The parts before the ciphertext. Views of the sealed bytes.
struct PasswordSeal {
    std::string_view header;  ///< all before `body`
    std::uint64_t n = 0;      ///< scrypt's cost
    std::uint32_t r = 0, p = 0;
    std::string_view salt, body;
};
/// Errors: BadRequest and Conflict, as open_with_password().
Result<PasswordSeal> parse_password_seal(std::string_view sealed);

}  // namespace porthole::net
