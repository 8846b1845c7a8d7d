#include "cni/plugin/members.h"

#include <algorithm>

#include "base/strings.h"

namespace porthole::cni {

using schema::Value;

const Value& member(const Value& value, std::string_view name) {
    if (!value.is_object()) return schema::null_value();
    for (const auto& [key, found] : value.as_object()) {
        if (equal_ignoring_case(key, name)) return found;
    }
    return schema::null_value();
}

}  // namespace porthole::cni
