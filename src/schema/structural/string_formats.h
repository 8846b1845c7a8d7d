#pragma once
#include <string_view>

namespace porthole::schema {

/// The formats of strings that a structural schema may ask for, as upstream checks them. A format that is not among them is ignored.
using StringFormat = bool (*)(std::string_view);
/// nullptr for an unknown format.
StringFormat find_string_format(std::string_view name);

}  // namespace porthole::schema
