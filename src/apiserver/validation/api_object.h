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

/// An object of the API on its way through the server: as a tree, or as its kind's struct, whichever was asked for last.
///
/// Patches and custom resources work on the tree, the rules of a kind on the struct. Each form is made from the other when it is
/// asked for, so that a request pays for what it uses. metadata.managedFields of a stored object, which are half of many, stay text until
/// someone asks for a form that has them: all but bare_tree() and metadata(). Not thread-safe, not even when const.
class ApiObject {
public:
    /// `tree` has been conformed to `kind`'s tables.
    ApiObject(const schema::Kind& kind, schema::Value tree) : kind_(&kind), tree_(std::move(tree)) {}
    /// `bare_tree` has no metadata.managedFields: these are `managed_fields`, the JSON of a list.
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
    /// The tree for those who do not care for metadata.managedFields: without them while they are text. Valid until another form is asked
    /// for.
    const schema::Value& bare_tree() const { return tree_ ? *tree_ : tree(); }
    schema::Value& edit_bare_tree();
    /// metadata.managedFields while they are text, else "".
    const std::string& managed_fields_text() const { return managed_fields_; }
    /// Requires: they are text. "" for none.
    void set_managed_fields_text(std::string text) { managed_fields_ = std::move(text); }
    /// For changes that leave metadata alone: what was read of it stays.
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

    /// One top-level field, such as status, taken from another object of the same kind.
    void copy_field(std::string_view field, const ApiObject& from);
    bool same_field(std::string_view field, const ApiObject& other) const;
    bool same_content(const ApiObject& other) const;
    /// Leaves nothing of it, or an empty object where Kubernetes' JSON has one for a struct without content.
    void clear_field(std::string_view field);

    /// JSON after apiVersion and kind.
    std::string to_json() const;
    /// JSON with a gap for the resourceVersion that the store will give it.
    struct GappedJson {
        std::string text;
        std::uint32_t gap;  ///< where the digits go
    };
    GappedJson to_gapped_json() &&;

private:
    const void* structure() const;
    void* edit_structure();
    ObjectMeta& begin_metadata_change();
    void end_metadata_change();
    void read_managed_fields() const;

    const schema::Kind* kind_;
    mutable std::optional<schema::Value> tree_;
    mutable std::optional<schema::Instance> struct_;
    mutable std::optional<ObjectMeta> tree_metadata_;  // of the tree, when there is no struct
    mutable std::string managed_fields_;               // what the tree lacks; then there is no struct
};

}  // namespace porthole::apiserver
