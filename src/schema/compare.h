#pragma once
#include "schema/type.h"

namespace porthole::schema {

/// Whether two structs of `type` are equal: in every field, quantities by amount.
bool equal(const Type& type, const void* left, const void* right);

}  // namespace porthole::schema
