#include "objects/owners.h"

#include <algorithm>

namespace porthole::objects {

using api::core::v1::ObjectReference;
using api::meta::v1::ObjectMeta;
using api::meta::v1::OwnerReference;

const OwnerReference* find_controller(const ObjectMeta& metadata) {
    for (const OwnerReference& owner : metadata.owner_references)
        if (owner.controller.value_or(false)) return &owner;
    return nullptr;
}

bool is_controlled_by(const ObjectMeta& metadata, const std::string& owner_uid) {
    const OwnerReference* controller = find_controller(metadata);
    return controller && controller->uid == owner_uid;
}

OwnerReference controller_reference(const schema::Kind& kind, const ObjectMeta& owner) {
    OwnerReference reference;
    reference.api_version = kind.api_version();
    reference.kind = kind.kind;
    reference.name = owner.name;
    reference.uid = owner.uid;
    reference.controller = true;
    reference.block_owner_deletion = true;
    return reference;
}

ObjectReference object_reference(const schema::Kind& kind, const ObjectMeta& object) {
    ObjectReference reference;
    reference.api_version = kind.api_version();
    reference.kind = kind.kind;
    reference.namespace_ = object.namespace_;
    reference.name = object.name;
    reference.uid = object.uid;
    reference.resource_version = object.resource_version;
    return reference;
}

bool has_finalizer(const ObjectMeta& metadata, const std::string& finalizer) {
    return std::ranges::find(metadata.finalizers, finalizer) != metadata.finalizers.end();
}

}  // namespace porthole::objects
