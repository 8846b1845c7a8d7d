#pragma once
#include "base/result.h"
#include "schema/type.h"
#include "schema/value.h"

namespace porthole::schema {

/// The tree of one member of a struct, as to_value() has it; null for an optional that is absent.
Value member_to_value(const Field& field, const void* memory);
/// Fills one member of a struct of the type `owner`. Requires: `value` is not null unless the form is opaque. Errors as from_value().
Result<void> member_from_value(const Type& owner, const Field& field, void* memory, const Value& value);

}  // namespace porthole::schema
