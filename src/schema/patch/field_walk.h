#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "schema/patch/field_set.h"
#include "schema/type.h"

namespace porthole::schema {

/// The schema of one value of a tree: a struct, a map, a list, a scalar, or unknown.
///
/// A Field describes a member; a Node describes a value, so that list items, map values and nested lists are handled alike.
struct Node {
    const Type* type = nullptr;    ///< a struct
    const Field* field = nullptr;  ///< the member that the value is, or is one item or value of; null at the root
    Shape shape = Shape::Single;   ///< of the value itself: an item of a list field is Single

    static Node of_struct(const Type& type) { return {&type, nullptr, Shape::Single}; }
    static Node of_member(const Field& field) {
        return {field.is_single() && field.form == Form::Struct ? field.type : nullptr, &field, field.shape};
    }

    bool is_struct() const { return type != nullptr; }
    bool is_map() const { return shape == Shape::Map; }
    bool is_list() const { return shape == Shape::List; }
    /// The schema ends here: an opaque value, or an unknown member.
    bool is_unknown() const { return !type && (!field || (shape == Shape::Single && is_opaque(field->form))); }

    /// An item of a list or a value of a map.
    Node element() const {
        if (!field || shape == Shape::Single) return {};
        if (field->form == Form::Nested) return of_member(*field->element);
        return {field->form == Form::Struct ? field->type : nullptr, field, Shape::Single};
    }
    /// A member of a struct, or a value of a map.
    Node member(std::string_view name) const {
        if (is_map()) return element();
        const Field* found = type && !type->is(Type::Alternatives) ? type->find_field(name) : nullptr;
        return found ? of_member(*found) : Node();
    }
};

// Objects as sets of fields, after structured-merge-diff: an atomic value is one field, granular maps and structs have their members,
// granular lists their items by key or value. All functions start at the root of an object.

/// The step to an item: `k:{"name":"x"}` or `v:"x"`. Keys with a default may be left out. Error: BadRequest.
Result<std::string> step_of(const Node& list, const Value& item);

/// An object of this kind in which nothing is set, to compare a new one with. It contains the structs that are always written.
Value blank_object(const Kind& kind);

/// The fields that an applied configuration names. Errors: BadRequest for a list item without its keys, or a duplicate key.
Result<FieldSet> fields_of(const Node& node, const Value& object);

/// The fields in which two objects differ.
struct Comparison {
    FieldSet added, modified, removed;
};
/// Never fails: an item that cannot be identified by its key is left out.
Comparison compare_fields(const Node& node, const Value& before, const Value& after);

/// What compare_fields() with a blank object reports as added or modified, as FieldsV1, without the paths of `unowned`, what is below them,
/// and their parents. Returns false, and leaves `out` alone, if there is nothing.
bool append_created_fields(const Kind& kind, const Value& object, const FieldSet& unowned, std::string& out);
/// The same for a struct, without its tree. It has no managedFields.
bool append_created_fields(const Kind& kind, const Instance& object, const FieldSet& unowned, std::string& out);

/// The atomic lists, maps and structs of an object, as paths: ".spec.containers[0].args".
std::vector<std::string> atomic_fields(const Node& node, const Value& object);

/// `live` with everything in `applied`; items of granular lists are in the order of `applied`.
Value merge_fields(const Node& node, const Value& live, const Value& applied);

/// `object` without the paths of `fields` and everything below them.
Value without_fields(const Node& node, const Value& object, const FieldSet& fields);

/// The set plus every struct member above its paths, so that a struct is removed if no manager owns any part of it.
FieldSet with_named_parents(const Node& node, const FieldSet& fields);

}  // namespace porthole::schema
