#pragma once
#include "schema/value.h"

namespace porthole::long_lists {

/// Objects by their members, all else as it is in `from`.
void merge(schema::Value& into, const schema::Value& from);

/// Gives an object what its lists need elsewhere in it: the volumes and claims that containers name, the labels that a selector asks for.
void complete(schema::Value& object);

}  // namespace porthole::long_lists
