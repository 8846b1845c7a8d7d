#pragma once
#include <string>
#include <string_view>

#include "base/result.h"
#include "schema/type.h"
#include "schema/value.h"

namespace porthole::schema {

/// One value of a scalar field in JSON's shape. Requires: not Struct, not Nested.
Value scalar_to_value(Form form, const void* memory);
/// The reverse. False for a value of another type, for which type_error() makes the error; an error for a text that cannot be parsed.
/// Requires: `value` is not null unless the form is opaque.
Result<bool> scalar_from_value(Form form, void* memory, const Value& value);
/// Whether Go's `omitempty` omits it: structs such as Time and Quantity are never omitted.
bool scalar_is_empty(Form form, const void* memory);
bool scalar_is_zero(Form form, const void* memory);

/// `json: cannot unmarshal string into Go struct field PodSpec.spec.containers of type []v1.Container`
Error type_error(const Value& found, std::string_view owner, std::string_view path, const Field& field, bool element);
/// Go's name of the field's type: "int32", "[]v1.Container"; if `element`, that of one element.
std::string go_type(const Field& field, bool element);

}  // namespace porthole::schema
