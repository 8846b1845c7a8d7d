#include "apiserver/resources/object_codec.h"

#include "apiserver/resources/object_attributes.h"
#include "schema/json.h"

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
    auto attributes = std::make_shared<ObjectAttributes>(*resource.rules, object.tree());
    ApiObject::GappedJson json = std::move(object).to_gapped_json();
    store::Put put{.key = std::move(key), .value = std::move(json.text), .revision_at = json.gap};
    put.attributes = std::move(attributes);
    return put;
}

Result<ApiObject> stored_object(const Resource& resource, const store::Record& record) {
    auto tree = schema::parse_json(*record.value);
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
