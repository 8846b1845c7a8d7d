#pragma once
#include <string_view>

#include "schema/value.h"

namespace porthole::cni {

/// The member of that name in any case, as Windows' configurations need; null where there is none.
const schema::Value& member(const schema::Value& value, std::string_view name);

}  // namespace porthole::cni
