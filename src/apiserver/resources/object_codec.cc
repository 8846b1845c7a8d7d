#include "apiserver/resources/object_codec.h"

#include <algorithm>

#include "apiserver/resources/object_attributes.h"
#include "schema/json/json.h"
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

}  // namespace

store::Put put_of(const Resource& resource, std::string key, ApiObject object) {
    auto attributes = std::make_shared<ObjectAttributes>(*resource.strategy, object.tree());
    ApiObject::GappedJson json = std::move(object).to_gapped_json();
    store::Put put{.key = std::move(key), .value = std::move(json.text), .revision_at = json.gap};
    put.attributes = std::move(attributes);
    return put;
}

Result<store::Put> limited_put_of(const Resource& resource, std::string key, ApiObject object, const store::Record* present) {
    if (const std::size_t depth = schema::depth_of(object.tree()); depth > MaxObjectDepth) {
        const auto before = present ? stored_object(resource, *present) : Result<ApiObject>(Error());
        if (!before || depth > schema::depth_of(before->tree())) return Error(Reason::BadRequest, "json: exceeded max depth");
    }
    store::Put put = put_of(resource, std::move(key), std::move(object));
    const std::size_t allowed = std::max(MaxObjectBytes, present ? present->value->size() : 0);
    if (put.value.size() > allowed)
        return Error(Reason::RequestEntityTooLarge, "Request entity too large: limit is " + std::to_string(MaxObjectBytes));
    return put;
}

Result<void> ensure_decrypted(const store::Record& record) {
    if (!is_unreadable(*record.value)) return {};
    return Error(Reason::InternalError, "Internal error occurred: unable to transform key \"" + upstream_path(record.key) +
                                            "\": " + std::string(why_unreadable(*record.value)));
}

Result<ApiObject> stored_object(const Resource& resource, const store::Record& record) {
    TRY_VOID(ensure_decrypted(record));
    // Deeper than requests may be: what an earlier version let in can be mended.
    auto tree = schema::parse_json(*record.value, {.depth = 2 * schema::MaxTreeDepth});
    if (!tree) return Error(Reason::InternalError, "stored object " + record.key + " cannot be read: " + tree.error().message);
    return ApiObject(*resource.stored, std::move(*tree));
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
