#pragma once
#include <string>
#include <string_view>

#include "base/result.h"

namespace porthole {

/// Standard base64 with padding.
std::string encode_base64(std::string_view bytes);
/// Line breaks are skipped. Error: BadRequest with Go's message (`illegal base64 data at input byte 3`).
Result<std::string> decode_base64(std::string_view text);

/// RFC 4648 §5 without padding, as JSON Web Tokens use it.
std::string encode_base64url(std::string_view bytes);
/// Error: BadRequest.
Result<std::string> decode_base64url(std::string_view text);

}  // namespace porthole
