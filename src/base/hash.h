#pragma once
#include <string>
#include <string_view>

namespace porthole {

/// 32 hexadecimal digits that change with the content (FNV-1a, 128 bits): for ETags and cache keys, not against forgers.
std::string content_hash(std::string_view content);

}  // namespace porthole
