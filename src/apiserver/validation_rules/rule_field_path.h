#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "schema/value.h"

namespace porthole::apiserver {

/// A rule's `fieldPath` as errors show it: "spec.labels[a.b]" for ".spec.labels['a.b']". nullopt if it is not a path of fields and map
/// keys, or `schema` does not describe it.
std::optional<std::string> resolve_field_path(std::string_view json_path, const schema::Value& schema);

}  // namespace porthole::apiserver
