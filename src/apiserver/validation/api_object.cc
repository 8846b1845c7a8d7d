#include "apiserver/validation/api_object.h"

#include "schema/compare.h"
#include "schema/convert.h"
#include "schema/fields/fields.h"
#include "schema/json/json.h"
#include "schema/json/json_struct_writer.h"
#include "schema/scalar.h"
#include "schema/value_at.h"

namespace porthole::apiserver {
namespace {

constexpr std::size_t RoomForJson = 4000;  ///< most objects are smaller

/// Whether those of the names that are there come first, in this order.
bool is_in_order(const schema::Object& given, std::initializer_list<std::string_view> names) {
    const schema::Member* next = given.begin();
    for (const std::string_view name : names) {
        if (next != given.end() && next->key == name)
            ++next;
        else if (given.contains(name))
            return false;
    }
    return true;
}

void bring_forward(schema::Object& given, std::initializer_list<std::string_view> names) {
    if (is_in_order(given, names)) return;  // as most are: so the struct and the store have them
    schema::Object ordered;
    ordered.reserve(given.size());
    for (const std::string_view name : names) {
        if (schema::Value* value = given.find(name)) ordered.append(std::string(name), std::move(*value));
    }
    for (schema::Member& member : given)
        if (!ordered.contains(member.key)) ordered.append(std::move(member.key), std::move(member.value));
    given = std::move(ordered);
}

/// The members of metadata in Kubernetes' order, so that the revision stands before anything a user names; in a custom resource, which
/// keeps the order in which it was sent, metadata before the rest, too.
void order_metadata(schema::Value& tree) {
    bring_forward(tree.as_object(), {"apiVersion", "kind", "metadata"});
    schema::Value* metadata = tree.find("metadata");
    if (metadata && metadata->is_object())
        bring_forward(metadata->as_object(), {"name", "generateName", "namespace", "uid", "resourceVersion"});
}

/// `managed_fields`, the text of what the tree lacks, come last in metadata, where they are in the struct.
void append_tree(const schema::Value& tree, std::string_view managed_fields, std::string& out) {
    if (managed_fields.empty()) return schema::append_json(tree, out);
    char separator = '{';
    for (const schema::Member& member : tree.as_object()) {
        out += std::exchange(separator, ',');
        schema::append_json_string(member.key, out);
        out += ':';
        schema::append_json(member.value, out);
        if (member.key != "metadata") continue;
        out.back() = member.value.as_object().empty() ? '{' : ',';
        out.append("\"managedFields\":").append(managed_fields) += '}';
    }
    out += '}';
}

ObjectMeta& metadata_in(const schema::Kind& kind, void* structure) {
    const schema::Field* field = kind.type->find_field("metadata");
    CHECK(field && field->type == &ObjectMeta::schema_type());
    return *static_cast<ObjectMeta*>(schema::member(structure, field->offset));
}

}  // namespace

ApiObject::ApiObject(const ApiObject& other) : kind_(other.kind_), tree_(other.bare_tree()), managed_fields_(other.managed_fields_) {
    if (!managed_fields_.empty()) tree_metadata_ = other.tree_metadata_;  // small without them
}

const schema::Value& ApiObject::tree() const {
    bare_tree();
    if (!managed_fields_.empty()) read_managed_fields();
    return *tree_;
}

const schema::Value& ApiObject::bare_tree() const {
    if (!tree_) tree_ = schema::to_value(*kind_, struct_->get());
    return *tree_;
}

/// From text into the forms that are there. What a broken disk has made of them is left out.
void ApiObject::read_managed_fields() const {
    auto list = schema::parse_json(std::exchange(managed_fields_, {}), {.depth = 2 * schema::MaxTreeDepth});
    if (!list) return;
    // References to it stay valid.
    ObjectMeta* const known = struct_ ? &metadata_in(*kind_, struct_->get()) : tree_metadata_ ? &*tree_metadata_ : nullptr;
    ObjectMeta fields;
    if (known && schema::from_value(ObjectMeta::schema_type(), &fields, schema::Value::object({{"managedFields", *list}})))
        known->managed_fields = std::move(fields.managed_fields);
    if (tree_) (*tree_)["metadata"]["managedFields"] = *std::move(list);
}

schema::Value& ApiObject::edit_bare_tree() {
    bare_tree();
    struct_.reset();
    tree_metadata_.reset();
    return *tree_;
}

schema::Value& ApiObject::edit_tree() {
    tree();
    struct_.reset();
    tree_metadata_.reset();
    return *tree_;
}

schema::Value& ApiObject::edit_tree_beyond_metadata() {
    if (struct_) return edit_tree();
    return *tree_;
}

bool ApiObject::has_managed_fields() const {
    if (!managed_fields_.empty()) return true;
    return tree_ ? tree_->at_path({"metadata", "managedFields"}) != nullptr : !metadata().managed_fields.empty();
}

const void* ApiObject::structure() const {
    if (!managed_fields_.empty()) read_managed_fields();
    if (!struct_) {
        struct_.emplace(*kind_->type);
        // Conforming has refused what does not fit the tables, so this cannot fail.
        CHECK(schema::from_value(*kind_->type, struct_->get(), tree()).has_value());
    }
    return struct_->get();
}

void* ApiObject::edit_structure() {
    structure();
    tree_.reset();
    tree_metadata_.reset();
    return struct_->get();
}

const ObjectMeta& ApiObject::metadata() const {
    if (struct_) return metadata_in(*kind_, struct_->get());
    if (!tree_metadata_) {
        tree_metadata_.emplace();
        CHECK(schema::from_value(ObjectMeta::schema_type(), &*tree_metadata_, schema::at(*tree_, "metadata")).has_value());
    }
    return *tree_metadata_;
}

ObjectMeta& ApiObject::begin_metadata_change() {
    metadata();
    return struct_ ? metadata_in(*kind_, struct_->get()) : *tree_metadata_;
}

void ApiObject::end_metadata_change() {
    if (tree_) (*tree_)["metadata"] = schema::to_value(metadata());
}

void ApiObject::copy_field(std::string_view field, const ApiObject& from) {
    const schema::Value* value = from.bare_tree().find(field);
    schema::Value& tree = edit_bare_tree();
    if (value)
        tree[field] = *value;
    else
        tree.erase(field);
    if (field == "metadata") managed_fields_ = from.managed_fields_;
}

bool ApiObject::same_content(const ApiObject& other) const {
    if (managed_fields_.empty() != other.managed_fields_.empty()) return tree() == other.tree();
    return managed_fields_ == other.managed_fields_ && bare_tree() == other.bare_tree();
}

bool ApiObject::same_field(std::string_view field, const ApiObject& other) const {
    const schema::Field* described = kind_->type->find_field(field);
    const bool is_whole = field != "metadata" || (managed_fields_.empty() && other.managed_fields_.empty());
    if (is_whole && struct_ && other.struct_ && described && described->type && described->is_single() && !described->access) {
        return schema::equal(*described->type, schema::member(struct_->get(), described->offset),
                             schema::member(other.struct_->get(), described->offset));
    }
    if (field == "metadata") return schema::at(tree(), field) == schema::at(other.tree(), field);
    return schema::at(bare_tree(), field) == schema::at(other.bare_tree(), field);
}

void ApiObject::clear_field(std::string_view field) {
    const schema::Field* found = kind_->type->find_field(field);
    const bool stays = is_built_in() && found && found->form == schema::Form::Struct && found->is_single() &&
                       !found->is(schema::Field::Pointer) && !found->is(schema::Field::OmitZero);
    if (stays && struct_ && schema::struct_is_zero(*found->type, schema::member(struct_->get(), found->offset))) return;
    if (stays)
        edit_bare_tree()[field] = schema::Value::object();
    else
        edit_bare_tree().erase(field);
}

void ApiObject::apply_table_defaults() {
    if (!struct_) return schema::apply_table_defaults(*tree_, *kind_->type);
    if (schema::apply_table_defaults(*kind_->type, struct_->get())) tree_.reset();
}

schema::Value ApiObject::value_at(std::string_view path) const {
    if (!tree_) return schema::value_at(*kind_->type, struct_->get(), path);
    const schema::Value* value = schema::find_at(*tree_, path);
    return value ? *value : schema::Value();
}

/// Returns the depth.
std::size_t ApiObject::append_json(std::string& out) const {
    out.reserve(RoomForJson);
    if (struct_) return schema::append_json(*kind_, struct_->get(), managed_fields_, out);
    append_tree(*tree_, managed_fields_, out);
    return schema::depth_of(*tree_);
}

std::string ApiObject::to_json() const {
    std::string text;
    append_json(text);
    return text;
}

ApiObject::GappedJson ApiObject::to_gapped_json() && {
    constexpr std::string_view Marker = "\"resourceVersion\":\"";
    if (struct_) {
        edit_metadata([](ObjectMeta& metadata) { metadata.resource_version = "0"; });
    } else {
        edit_bare_tree()["metadata"]["resourceVersion"] = "0";
        order_metadata(*tree_);
    }
    GappedJson json{};
    json.depth = append_json(json.text);
    const std::size_t found = json.text.find(Marker);
    CHECK(found != std::string::npos);
    json.gap = static_cast<std::uint32_t>(found + Marker.size());
    json.text.erase(json.gap, 1);
    return json;
}

}  // namespace porthole::apiserver
