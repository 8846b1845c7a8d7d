#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace porthole::cel {

bool is_utf8(std::string_view text);
/// Texts are indexed by code points. Bytes that are not UTF-8 become U+FFFD.
std::vector<std::uint32_t> to_code_points(std::string_view text);
std::string from_code_points(const std::vector<std::uint32_t>& points, std::size_t from, std::size_t to);

}  // namespace porthole::cel
