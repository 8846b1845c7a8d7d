#include "apiserver/resources/object_codec.h"

#include "apiserver/resources/object_attributes.h"
#include "schema/json.h"

namespace porthole::apiserver {
namespace {

/// The members of metadata in Kubernetes' order, so that the revision stands before anything a user names.
void order_metadata(schema::Value& tree) {
    schema::Value* metadata = tree.find("metadata");
    if (!metadata || !metadata->is_object()) return;
    schema::Object ordered;
    schema::Object& given = metadata->as_object();
    for (const std::string_view name : {"name", "generateName", "namespace", "uid", "resourceVersion"}) {
        if (schema::Value* value = given.find(name)) ordered.append(std::string(name), std::move(*value));
    }
    for (schema::Member& member : given)
        if (!ordered.contains(member.key)) ordered.append(std::move(member.key), std::move(member.value));
    given = std::move(ordered);
}

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
    constexpr std::string_view Marker = "\"resourceVersion\":\"";
    object.edit_metadata([](ObjectMeta& metadata) { metadata.resource_version = "0"; });
    if (!object.is_built_in()) order_metadata(object.edit_tree());
    store::Put put{.key = std::move(key), .value = object.to_json()};
    const std::size_t found = put.value.find(Marker);
    CHECK(found != std::string::npos);
    put.revision_at = static_cast<std::uint32_t>(found + Marker.size());
    put.value.erase(*put.revision_at, 1);
    put.attributes = std::make_shared<ObjectAttributes>(*resource.rules, object.tree());
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
