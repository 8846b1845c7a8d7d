#pragma once
#include <string_view>

#include "base/result.h"
#include "schema/type.h"
#include "schema/value.h"

namespace porthole::schema {

template <class T>
concept TopLevel = requires { T::kind(); };

/// The tree of a struct, with the members that Kubernetes writes: no empty ones unless they are always written.
Value to_value(const Type& type, const void* object);
/// The same after `apiVersion` and `kind`.
Value to_value(const Kind& kind, const void* object);
/// Adds the members of a struct to an object.
void append_value(const Type& type, const void* object, Object& members);
/// Fills a struct from a tree. Unknown members are ignored and null counts as absent. Errors: BadRequest with Go's message (`json: cannot
/// unmarshal string into Go struct field ...`).
Result<void> from_value(const Type& type, void* object, const Value& value);

template <class T>
Value to_value(const T& object) {
    if constexpr (TopLevel<T>)
        return to_value(T::kind(), &object);
    else
        return to_value(T::schema_type(), &object);
}
template <class T>
Result<T> from_value(const Value& value) {
    T object;
    TRY_VOID(from_value(T::schema_type(), &object, value));
    return object;
}

/// The tree as Kubernetes would return it: converted to the struct and back. Drops unknown and empty members, adds those always written,
/// brings quantities and times into canonical form; keeps `apiVersion` and `kind`. Requires a built-in type.
Result<Value> canonical(const Type& type, const Value& value);

}  // namespace porthole::schema
