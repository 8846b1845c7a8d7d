#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "schema/value.h"

namespace porthole::apiserver {

/// Where a rule's `fieldPath` leads, as errors show it: "spec.labels[a.b]" of ".spec.labels['a.b']". nullopt where it is not a path of
/// fields and keys of maps, or leads to nothing that `schema` describes.
std::optional<std::string> resolve_field_path(std::string_view json_path, const schema::Value& schema);

}  // namespace porthole::apiserver
