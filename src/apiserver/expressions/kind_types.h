#pragma once
#include "cel/values/type.h"
#include "schema/type.h"

namespace porthole::apiserver {

/// The type of a kind's objects in expressions. It and the types of its fields are declared in `types`, and do not point into the kind.
/// Parts that the tables do not describe are dyn.
cel::TypeRef declare_kind(cel::ObjectTypes& types, const schema::Kind& kind);

}  // namespace porthole::apiserver
