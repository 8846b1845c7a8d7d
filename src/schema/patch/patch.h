#pragma once
#include <optional>
#include <string_view>

#include "base/result.h"
#include "schema/type.h"
#include "schema/value.h"

namespace porthole::schema {

enum class PatchType {
    Json,       ///< application/json-patch+json, RFC 6902
    Merge,      ///< application/merge-patch+json, RFC 7386
    Strategic,  ///< application/strategic-merge-patch+json: merges lists by key and supports $patch directives
    Apply,      ///< application/apply-patch+yaml: see apply.h
};
/// By media type, without parameters; nullopt for any other.
std::optional<PatchType> parse_patch_type(std::string_view media_type);

/// `current` with `patch` applied; neither is checked against the schema. Json, Merge and Strategic only.
///
/// Errors: BadRequest for a patch that is malformed or has a wrong directive; Invalid (422) for a JSON patch that does not
/// fit the object; UnsupportedMediaType for Strategic on a custom resource; RequestEntityTooLarge for a JSON patch of more
/// than 10,000 operations.
Result<Value> apply_patch(PatchType type, const Kind& kind, const Value& current, const Value& patch);

// The three kinds of patch, one in each source; see apply_patch for their errors.
Result<Value> apply_json_patch(const Value& current, const Value& patch);
/// Whether apply_json_patch() failed because a `test` found another value.
bool is_failed_test(const Error& error);
Result<Value> apply_merge_patch(const Value& current, const Value& patch);
Result<Value> apply_strategic_patch(const Type& type, const Value& current, const Value& patch);

}  // namespace porthole::schema
