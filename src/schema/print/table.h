#pragma once
#include "base/time/time.h"
#include "schema/type.h"
#include "schema/value.h"

namespace porthole::schema {

/// The `columnDefinitions` of a kind's Table (meta.k8s.io): its own columns, else the name and the time of creation.
Value column_definitions(const Kind& kind);

/// The `cells` of a row, one for each column definition. Ages are as of `now`.
Array table_cells(const Kind& kind, const Value& object, Timestamp now);

/// The `conditions` of a row: set for a finished pod, empty for all other objects.
Array row_conditions(const Kind& kind, const Value& object);

}  // namespace porthole::schema
