#pragma once
#include <string>
#include <string_view>

#include "base/result.h"

namespace porthole::apiserver {

/// RFC 4648 §5 without padding, as JSON Web Tokens use it.
std::string encode_base64url(std::string_view bytes);
Result<std::string> decode_base64url(std::string_view text);

}  // namespace porthole::apiserver
