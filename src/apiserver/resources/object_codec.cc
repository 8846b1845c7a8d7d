#include "apiserver/resources/object_codec.h"

#include <algorithm>
#include <optional>

#include "apiserver/resources/object_attributes.h"
#include "schema/json/json.h"
#include "schema/json/managed_fields_slice.h"
#include "schema/value.h"

namespace porthole::apiserver {
namespace {

/// Changes apiVersion and, where the versions differ in more, what else a conversion does.
ApiObject converted(const schema::Kind& to, const std::function<schema::Value(schema::Value)>& convert, ApiObject object) {
    schema::Value tree = std::move(object.edit_tree());
    if (convert) tree = convert(std::move(tree));
    tree["apiVersion"] = to.api_version();
    tree["kind"] = to.kind;
    return ApiObject(to, std::move(tree));
}

schema::Value read_tree(const Resource& resource, schema::Value tree) {
    return resource.form != 0 ? resource.conversion.from_stored(std::move(tree)) : std::move(tree);
}

/// What the present form of a record's bytes is, where it differs.
std::optional<std::string> changed_text(const Resource& resource, const store::Record& record, const std::string& stored) {
    const auto* attributes = static_cast<const ObjectAttributes*>(record.attributes.get());
    if (resource.form == 0 || (attributes && attributes->is_in_form(resource.form)) || is_unreadable(stored)) return std::nullopt;
    std::string text = present_text(resource, stored);
    if (text != stored) return text;
    if (attributes) attributes->set_form(resource.form);
    return std::nullopt;
}

}  // namespace

std::string present_text(const Resource& resource, std::string stored) {
    if (resource.form == 0) return stored;
    auto tree = schema::parse_json(stored, {.depth = 2 * schema::MaxTreeDepth});
    return tree ? schema::to_json(read_tree(resource, *std::move(tree))) : stored;
}

store::Bytes present_bytes(const Resource& resource, const store::Record& record) {
    const store::Bytes stored = record.value.bytes();
    std::optional<std::string> changed = changed_text(resource, record, *stored);
    return changed ? bytes_of(*std::move(changed)) : stored;
}

store::RecordPtr present_record(const Resource& resource, store::RecordPtr record) {
    if (resource.form == 0) return record;
    std::optional<std::string> text = changed_text(resource, *record, *record->value.bytes());
    if (!text) return record;
    auto changed = std::make_shared<store::Record>(*record);
    changed->value = bytes_of(*std::move(text));
    changed->revision_at.reset();
    return changed;
}

bool is_in_old_version(const Resource& resource, const store::Record& record) {
    if (resource.form == 0) return false;
    const auto tree = schema::parse_json(*record.value.bytes());
    return tree && tree->string_at({"apiVersion"}) != resource.storage_api_version;
}

namespace {

/// What put_of() writes, and how deep that is, not counting managedFields that were text.
struct Encoded {
    store::Put put;
    std::size_t depth;
};
Encoded encoded(const Resource& resource, std::string key, ApiObject object) {
    auto attributes = object.bare_structure() ? std::make_shared<ObjectAttributes>(resource.selectable, object)
                                              : std::make_shared<ObjectAttributes>(resource.selectable, object.bare_tree());
    if (resource.form != 0) {
        if (resource.conversion.to_stored)
            object = ApiObject(*resource.stored, resource.conversion.to_stored(std::move(object.edit_tree())));
        else if (object.tree().string_at({"apiVersion"}) == resource.storage_api_version)
            attributes->set_form(resource.form);
    }
    ApiObject::GappedJson json = std::move(object).to_gapped_json();
    store::Put put{.key = std::move(key), .value = std::move(json.text), .revision_at = json.gap};
    put.attributes = std::move(attributes);
    return {std::move(put), json.depth};
}

/// 0 for what cannot be read.
std::size_t depth_of_text(std::string_view json) {
    const auto tree = schema::parse_json(json, {.depth = 2 * schema::MaxTreeDepth});
    return tree ? schema::depth_of(*tree) : 0;
}

}  // namespace

store::Put put_of(const Resource& resource, std::string key, ApiObject object) {
    return encoded(resource, std::move(key), std::move(object)).put;
}

Result<store::Put> limited_put_of(const Resource& resource, std::string key, ApiObject object, const store::Record* present) {
    auto [put, bare_depth] = encoded(resource, std::move(key), std::move(object));
    // managedFields are little deeper than the object, so that those of a flat one need not be read.
    const std::size_t depth = bare_depth < MaxObjectDepth / 2 ? 0 : depth_of_text(put.value);
    if (depth > MaxObjectDepth && (!present || depth > depth_of_text(*present->value.bytes())))
        return Error(Reason::BadRequest, "json: exceeded max depth");
    const std::size_t allowed = std::max(MaxObjectBytes, present ? present->value.size() : 0);
    if (put.value.size() > allowed)
        return Error(Reason::RequestEntityTooLarge, "Request entity too large: limit is " + std::to_string(MaxObjectBytes));
    return std::move(put);  // a structured binding would be copied
}

Result<void> ensure_decrypted(const store::Record& record) {
    if (!is_unreadable(record.value)) return {};
    return Error(Reason::InternalError, "Internal error occurred: unable to transform key \"" + upstream_path(record.key) +
                                            "\": " + std::string(why_unreadable(*record.value.bytes())));
}

Result<ApiObject> stored_object(const Resource& resource, const store::Record& record) {
    TRY_VOID(ensure_decrypted(record));
    const store::Bytes stored = record.value.bytes();
    std::string_view text = *stored;
    std::string bare, managed_fields;
    if (const auto fields = resource.form == 0 ? schema::find_managed_fields(text) : std::nullopt; fields && fields->is_last) {
        managed_fields = fields->value;
        text = bare.assign(text.substr(0, fields->begin)).append(text.substr(fields->end));
    }
    // Deeper than requests may be: what an earlier version let in can be mended.
    auto tree = schema::parse_json(text, {.depth = 2 * schema::MaxTreeDepth});
    if (!tree) return Error(Reason::InternalError, "stored object " + record.key + " cannot be read: " + tree.error().message);
    return ApiObject(*resource.stored, read_tree(resource, std::move(*tree)), std::move(managed_fields));
}

ApiObject to_stored(const Resource& resource, ApiObject object) {
    if (resource.kind == resource.stored) return object;
    return converted(*resource.stored, resource.conversion.to_stored, std::move(object));
}

ApiObject to_served(const Resource& resource, ApiObject object) {
    if (resource.kind == resource.stored) return object;
    return converted(*resource.kind, resource.conversion.from_stored, std::move(object));
}

store::Bytes served_bytes(const Resource& resource, store::Bytes stored) {
    if (resource.sends_stored_bytes()) return stored;
    auto tree = schema::parse_json(*stored);
    if (!tree) return stored;
    return bytes_of(to_served(resource, ApiObject(*resource.stored, std::move(*tree))).to_json());
}

}  // namespace porthole::apiserver
