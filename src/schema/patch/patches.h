#pragma once
#include "base/result.h"
#include "schema/type.h"
#include "schema/value.h"

namespace porthole::schema {

// The three kinds of patch, one in each source; see apply_patch for their errors.
Result<Value> apply_json_patch(const Value& current, const Value& patch);
Result<Value> apply_merge_patch(const Value& current, const Value& patch);
Result<Value> apply_strategic_patch(const Type& type, const Value& current, const Value& patch);

}  // namespace porthole::schema
