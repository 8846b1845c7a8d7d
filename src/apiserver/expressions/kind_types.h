#pragma once
#include "cel/values/type.h"
#include "schema/type.h"

namespace porthole::apiserver {

/// The type that expressions see of a kind's objects, with all that it consists of declared in `types`; nothing of it points into the kind.
/// What the tables do not look into is dyn.
cel::TypeRef declare_kind(cel::ObjectTypes& types, const schema::Kind& kind);

}  // namespace porthole::apiserver
