#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

/// Bytes that only who knows a password can read or make: AES-256-GCM with a key that scrypt (RFC 7914) derives from the password and a
/// fresh salt. Blocks for about 50 ms, and needs 16 MiB meanwhile. Any thread.
///
/// "porthole-sealed:1:", then one byte each for the logarithm of N, r and p, 16 bytes of salt, and what seal_aes_gcm() yields. All that
/// comes before the latter is authenticated with it.
namespace porthole::net {

std::string seal_with_password(std::string_view password, std::string_view plaintext);
/// Errors: BadRequest for bytes that are not sealed so, or cost more than any version of this program makes them; Conflict for those of a
/// newer version; Forbidden for another password, or bytes that have been changed.
Result<std::string> open_with_password(std::string_view password, std::string_view sealed);

/// What is said before the ciphertext. Views of the sealed bytes.
struct PasswordSeal {
    std::string_view header;  ///< all before `body`
    std::uint64_t n = 0;      ///< scrypt's cost
    std::uint32_t r = 0, p = 0;
    std::string_view salt, body;
};
/// Errors: BadRequest and Conflict, as open_with_password().
Result<PasswordSeal> parse_password_seal(std::string_view sealed);

}  // namespace porthole::net
