#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "schema/patch/apply.h"

namespace porthole::schema {

/// track_update() of an existing object, with its metadata.managedFields as text: `record` is the JSON of the list, `before` and `after`
/// are the objects without it. Most entries own none of the changed fields; they are copied without parsing, so half of an object is
/// neither parsed nor written again.
///
/// Returns the new list's text, "" if it has become empty; nullopt if only track_update() can handle it (a list that Kubernetes would write
/// differently, or one that is full).
std::optional<std::string> track_update_text(const Kind& kind, const Value& before, const Value& after, std::string_view record,
                                             const FieldManager& manager);

/// The same for a new object, `after`, which has no managedFields yet.
std::string track_create_text(const Kind& kind, const Value& after, const FieldManager& manager);
/// The same for a struct, without its tree.
std::string track_create_text(const Kind& kind, const Instance& after, const FieldManager& manager);

}  // namespace porthole::schema
