#pragma once
#include <string_view>

namespace porthole::schema {

/// The string formats that a structural schema may name, checked as upstream does. Other formats are ignored.
using StringFormat = bool (*)(std::string_view);
/// nullptr for an unknown format.
StringFormat find_string_format(std::string_view name);

}  // namespace porthole::schema
