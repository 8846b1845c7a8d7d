#include "cni/plugin/members.h"

#include <algorithm>
#include <cctype>

namespace porthole::cni {

using schema::Value;

bool equal_ignoring_case(std::string_view left, std::string_view right) {
    return std::ranges::equal(left, right, [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); });
}

const Value& member(const Value& value, std::string_view name) {
    if (!value.is_object()) return schema::null_value();
    for (const auto& [key, found] : value.as_object()) {
        if (equal_ignoring_case(key, name)) return found;
    }
    return schema::null_value();
}

}  // namespace porthole::cni
