#pragma once
#include <string>
#include <string_view>

#include "schema/type.h"

/// The keys of objects in the store: "/registry/<group>/<resource>/[<namespace>/]<name>", group "core" for the one without a name.
namespace porthole::apiserver {

std::string kind_prefix(const schema::Kind& kind);
std::string namespace_prefix(const schema::Kind& kind, std::string_view namespace_);
std::string object_key(const schema::Kind& kind, std::string_view namespace_, std::string_view name);

}  // namespace porthole::apiserver
