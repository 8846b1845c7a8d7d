#pragma once
#include <string>

#include "schema/compiler/checker.h"

namespace porthole::schemac {

/// A field's form in C++ and in the tables.
struct CppField {
    std::string member_type;  ///< "std::optional<std::int32_t>"
    std::string initializer;  ///< " = 0" or ""
    std::string form;         ///< "Int32": the enumerator of schema::Form
    std::string access;       ///< "optional_access", "list_access", "map_access", or "" for a plain member
    bool element = false;     ///< a map of string lists: Form::Nested
    bool wrapped_list = false;
    bool list_shape = false;  ///< a field of a `list` type: one value in the schema text, a list in JSON
};
/// Requires: the field was checked (its `target` and `enumeration` are set).
CppField cpp_field(const Field& field);

}  // namespace porthole::schemac
