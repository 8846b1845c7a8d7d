#include "controllers/framework/claim.h"

#include "base/result.h"
#include "schema/json/json.h"
#include "schema/value.h"

namespace porthole::controllers {

using api::meta::v1::ObjectMeta;
using api::meta::v1::OwnerReference;
using schema::Value;

namespace {

Value guarded(const ObjectMeta& dependent) {
    Value patch;
    patch.ensure_path({"metadata", "uid"}) = dependent.uid;
    if (!dependent.resource_version.empty()) patch.ensure_path({"metadata", "resourceVersion"}) = dependent.resource_version;
    return patch;
}

Value references(const std::vector<OwnerReference>& owners) {
    Value list = Value::array();
    for (const OwnerReference& owner : owners) list.as_array().push_back(schema::to_value(owner));
    return list;
}

}  // namespace

ClaimAction decide_claim(const ObjectMeta& owner, const ObjectMeta& dependent, bool selected) {
    const OwnerReference* controller = objects::find_controller(dependent);
    if (controller) {
        if (controller->uid != owner.uid) return ClaimAction::Ignore;
        if (selected) return ClaimAction::Keep;
        return owner.deletion_timestamp ? ClaimAction::Ignore : ClaimAction::Release;
    }
    const bool going = owner.deletion_timestamp || dependent.deletion_timestamp;
    return selected && !going ? ClaimAction::Adopt : ClaimAction::Ignore;
}

Task<> Claimer::check_owner() {
    if (checked_) co_return {};
    CO_TRY(const net::Bytes bytes, co_await client_.get_raw(client::Client::path(owner_.kind, owner_.key(), "")));
    CO_TRY(const Value live, schema::parse_json(*bytes));
    if (live.string_at({"metadata", "uid"}) != owner_.metadata.uid)
        co_return Error(Reason::Conflict, "the owner has been replaced by another of the same name");
    if (!live.string_at({"metadata", "deletionTimestamp"}).empty()) co_return Error(Reason::Conflict, "the owner is being deleted");
    checked_ = true;
    co_return {};
}

Task<> Claimer::adopt(const schema::Kind& kind, ObjectMeta dependent, std::vector<std::string> finalizers) {
    CO_TRY_VOID(co_await check_owner());
    Value patch = guarded(dependent);
    std::vector<OwnerReference> owners = dependent.owner_references;
    std::erase_if(owners, [&](const OwnerReference& owner) { return owner.uid == owner_.metadata.uid; });
    owners.push_back(owner_.controller_reference());
    patch.ensure_path({"metadata", "ownerReferences"}) = references(owners);
    if (!finalizers.empty()) {
        Value list = Value::array();
        for (const std::string& finalizer : dependent.finalizers) list.as_array().push_back(finalizer);
        for (const std::string& finalizer : finalizers)
            if (!objects::has_finalizer(dependent, finalizer)) list.as_array().push_back(finalizer);
        patch.ensure_path({"metadata", "finalizers"}) = std::move(list);
    }
    const std::string path = client::Client::path(kind, {dependent.namespace_, dependent.name}, "");
    CO_TRY_VOID(co_await client_.patch_raw(path, client::PatchType::Merge, schema::to_json(patch)));
    co_return {};
}

Task<> Claimer::release(const schema::Kind& kind, ObjectMeta dependent) {
    Value patch = guarded(dependent);
    std::vector<OwnerReference> owners = dependent.owner_references;
    std::erase_if(owners, [&](const OwnerReference& owner) { return owner.uid == owner_.metadata.uid; });
    patch.ensure_path({"metadata", "ownerReferences"}) = owners.empty() ? Value() : references(owners);
    const std::string path = client::Client::path(kind, {dependent.namespace_, dependent.name}, "");
    CO_TRY_VOID(ignore_not_found(co_await client_.patch_raw(path, client::PatchType::Merge, schema::to_json(patch))));
    co_return {};
}

}  // namespace porthole::controllers
