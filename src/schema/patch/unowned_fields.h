#pragma once
#include <cstddef>
#include <string_view>

#include "schema/patch/field_set.h"
#include "schema/type.h"

namespace porthole::schema {

/// Entries of metadata.managedFields for other writes than an apply; the oldest beyond them become one.
inline constexpr std::size_t MaxUpdateEntries = 10;

/// Removes from what a request has changed, or names, the places that no manager owns: the object's identity, what the server alone sets,
/// and what a request to this subresource cannot change.
void leave_unowned(FieldSet& fields, const Kind& kind, std::string_view subresource);

}  // namespace porthole::schema
