#pragma once
#include <string>
#include <string_view>

#include "base/result.h"

namespace porthole {

/// Standard base64 with padding.
std::string encode_base64(std::string_view bytes);
/// Line breaks are skipped. Error: BadRequest in Go's words (`illegal base64 data at input byte 3`).
Result<std::string> decode_base64(std::string_view text);

}  // namespace porthole
