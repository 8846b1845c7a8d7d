#pragma once
#include "base/result.h"
#include "schema/patch/field_set.h"
#include "schema/patch/schema_node.h"

namespace porthole::schema {

// Objects as sets of fields, after structured-merge-diff: what is atomic is one field, granular maps and structs have their
// members, granular lists their items by key or value. All start at the root of an object.

/// The fields an applied configuration names. Errors: BadRequest for a list item without its keys, or a key that comes twice.
Result<FieldSet> fields_of(const Node& node, const Value& object);

/// The fields in which two objects differ.
struct Comparison {
    FieldSet added, modified, removed;
};
/// Never fails: an item that cannot be told by its key is left out.
Comparison compare_fields(const Node& node, const Value& before, const Value& after);

/// `live` with everything that `applied` says; items of granular lists come in the order of `applied`.
Value merge_fields(const Node& node, const Value& live, const Value& applied);

/// `object` without the places of `fields` and all that is below them.
Value without_fields(const Node& node, const Value& object, const FieldSet& fields);

/// The set with every struct member on the way to its places added as a place: so that a struct goes when nobody has any
/// part of it any more.
FieldSet with_named_parents(const Node& node, const FieldSet& fields);

}  // namespace porthole::schema
