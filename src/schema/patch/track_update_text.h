#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "schema/patch/apply.h"

namespace porthole::schema {

/// track_update() of an object that exists, with its metadata.managedFields as text: `record` is the JSON of the list, `before` and `after`
/// are the objects without it. Entries that own nothing of what changes, as most do, are passed on unread: half of an object is neither
/// parsed nor written again.
///
/// Yields the new list's text, "" where no one owns anything any more; nullopt for what only track_update() handles (a list that Kubernetes
/// would write in another way, or one that is full).
std::optional<std::string> track_update_text(const Kind& kind, const Value& before, const Value& after, std::string_view record,
                                             const FieldManager& manager);

/// The same for an object that is created, `after`, and has no managedFields yet.
std::string track_create_text(const Kind& kind, const Value& after, const FieldManager& manager);

}  // namespace porthole::schema
