#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#include "schema/type.h"

namespace porthole::schema {

/// append_json() for an object whose struct lacks metadata.managedFields: `managed_fields` is the JSON of that list, "" for none. Returns
/// the object's depth_of() without them.
std::size_t append_json(const Kind& kind, const void* object, std::string_view managed_fields, std::string& out);

}  // namespace porthole::schema
