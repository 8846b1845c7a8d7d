#pragma once
#include <cstddef>
#include <string_view>

#include "schema/patch/field_set.h"
#include "schema/type.h"

namespace porthole::schema {

/// Maximum number of metadata.managedFields entries for writes other than applies; the oldest beyond it are merged.
inline constexpr std::size_t MaxUpdateEntries = 10;

/// The fields that no manager owns: the object's identity, fields that only the server sets, and fields that a request to this subresource
/// cannot change. No manager owns their parents either.
const FieldSet& unowned_fields(const Kind& kind, std::string_view subresource);

/// Removes these from the fields that a request has changed, or names.
void leave_unowned(FieldSet& fields, const Kind& kind, std::string_view subresource);

}  // namespace porthole::schema
