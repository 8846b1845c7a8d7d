#pragma once
#include "schema/type.h"

namespace porthole::schema {

/// Whether two structs of `type` are equal: in every field, quantities by amount.
bool equal(const Type& type, const void* left, const void* right);

/// The same for a member of two structs.
bool equal_members(const Field& field, const void* left, const void* right);

/// Whether JSON leaves the member at `memory` out when the field has `OmitEmpty`: as Go does, so an empty struct is there.
bool member_is_absent(const Field& field, const void* memory);
/// Every field is at its default.
bool struct_is_zero(const Type& type, const void* object);

}  // namespace porthole::schema
