#pragma once
#include <string_view>

#include "schema/value.h"

namespace porthole::cni {

/// The member of that name in any case, as Windows' configurations need; null where there is none.
const schema::Value& member(const schema::Value& value, std::string_view name);
bool equal_ignoring_case(std::string_view left, std::string_view right);

}  // namespace porthole::cni
