#pragma once
#include <string_view>

#include "schema/type.h"
#include "schema/value.h"

namespace porthole::schema {

/// What is at a path of names with dots, "spec.nodeName"; null if nothing is there. Lists have no names.
const Value* find_at(const Value& object, std::string_view path);
/// The same in a struct, as its tree would have it: the value is made, the tree is not.
Value value_at(const Type& type, const void* object, std::string_view path);

}  // namespace porthole::schema
