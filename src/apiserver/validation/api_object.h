#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "api/meta_v1.h"
#include "schema/type.h"
#include "schema/value.h"

namespace porthole::apiserver {

using api::meta::v1::ObjectMeta;

/// An API object during a request: as a tree, or as its kind's struct, whichever was last requested.
///
/// Patches and custom resources work on the tree, the rules of a kind on the struct. Each form is made from the other on demand, so that a
/// request pays only for what it uses. metadata.managedFields, which are half of many objects, stay text until a form with them is
/// requested: any but bare_tree(), bare_structure() and metadata(). Not thread-safe, not even when const.
class ApiObject {
public:
    /// `tree` has been conformed to `kind`'s tables.
    ApiObject(const schema::Kind& kind, schema::Value tree) : kind_(&kind), tree_(std::move(tree)) {}
    /// A built-in object that has been decoded into its kind's struct.
    ApiObject(const schema::Kind& kind, schema::Instance structure) : kind_(&kind), struct_(std::move(structure)) {}
    /// `bare_tree` has no metadata.managedFields; `managed_fields` is the JSON of that list.
    ApiObject(const schema::Kind& kind, schema::Value bare_tree, std::string managed_fields)
        : kind_(&kind), tree_(std::move(bare_tree)), managed_fields_(std::move(managed_fields)) {}
    ApiObject(const ApiObject& other);
    ApiObject(ApiObject&&) noexcept = default;
    ApiObject& operator=(const ApiObject& other) { return *this = ApiObject(other); }
    ApiObject& operator=(ApiObject&&) noexcept = default;
    template <class T>
    static ApiObject of(T object) {
        ApiObject result(T::kind(), schema::Value());
        result.tree_.reset();
        result.struct_.emplace(T::schema_type());
        *static_cast<T*>(result.struct_->get()) = std::move(object);
        return result;
    }

    const schema::Kind& kind() const { return *kind_; }
    /// Whether T is this kind's struct.
    template <class T>
    bool is() const {
        return kind_->type == &schema::type_of<T>();
    }
    /// Whether there is a struct at all: not for custom resources.
    bool is_built_in() const { return kind_->type->create != nullptr; }

    const schema::Value& tree() const;
    schema::Value& edit_tree();
    /// The tree for callers that do not need metadata.managedFields: without them while they are text. Valid until another form is
    /// requested.
    const schema::Value& bare_tree() const;
    schema::Value& edit_bare_tree();
    /// The struct, without managedFields while they are text; null if there is a tree. Valid as bare_tree().
    const schema::Instance* bare_structure() const { return tree_ ? nullptr : &*struct_; }
    /// metadata.managedFields while they are text, else "".
    const std::string& managed_fields_text() const { return managed_fields_; }
    /// In either form.
    bool has_managed_fields() const;
    /// Requires: they are text. "" for none.
    void set_managed_fields_text(std::string text) { managed_fields_ = std::move(text); }
    /// For changes outside of metadata: its parsed form stays valid.
    schema::Value& edit_tree_beyond_metadata();
    /// Requires: is<T>().
    template <class T>
    const T& view() const {
        CHECK(is<T>());
        return *static_cast<const T*>(structure());
    }
    template <class T>
    T& edit() {
        CHECK(is<T>());
        return *static_cast<T*>(edit_structure());
    }

    /// Valid until the object is changed. Without managedFields while they are text.
    const ObjectMeta& metadata() const;
    /// Calls `change(ObjectMeta&)`. Every form that is there stays valid: the rest of the object is not converted.
    template <class Change>
    void edit_metadata(Change change) {
        ObjectMeta& metadata = begin_metadata_change();
        change(metadata);
        end_metadata_change();
    }
    const std::string& name() const { return metadata().name; }
    const std::string& namespace_() const { return metadata().namespace_; }
    bool is_deleting() const { return metadata().deletion_timestamp.has_value(); }

    /// What is at a path of names with dots, "spec.nodeName", but in metadata.managedFields; null if nothing is there. Makes no other form.
    schema::Value value_at(std::string_view path) const;

    /// Copies one top-level field, such as status, from another object of the same kind.
    void copy_field(std::string_view field, const ApiObject& from);
    bool same_field(std::string_view field, const ApiObject& other) const;
    bool same_content(const ApiObject& other) const;
    /// Removes it, or leaves an empty object if Kubernetes' JSON has one for an empty struct.
    void clear_field(std::string_view field);

    /// Sets unset fields to their default in the kind's table, in the form that is there.
    void apply_table_defaults();

    /// JSON after apiVersion and kind.
    std::string to_json() const;
    /// JSON with a gap for the resourceVersion that the store will insert.
    struct GappedJson {
        std::string text;
        std::uint32_t gap;  ///< where the digits go
        std::size_t depth;  ///< schema::depth_of the object, not counting managedFields while they are text
    };
    GappedJson to_gapped_json() &&;

private:
    const void* structure() const;
    void* edit_structure();
    ObjectMeta& begin_metadata_change();
    void end_metadata_change();
    void read_managed_fields() const;
    std::size_t append_json(std::string& out) const;

    const schema::Kind* kind_;
    mutable std::optional<schema::Value> tree_;
    mutable std::optional<schema::Instance> struct_;
    mutable std::optional<ObjectMeta> tree_metadata_;  // of the tree, if there is no struct
    mutable std::string managed_fields_;               // missing from the tree and from the struct
};

}  // namespace porthole::apiserver
