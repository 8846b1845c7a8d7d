#include "controllers/framework/context.h"

#include "objects/owners.h"

namespace porthole::controllers {

std::string owner_key(const std::string& namespace_, const std::string& owner_uid) { return namespace_ + "/" + owner_uid; }

std::string owner_key(const api::meta::v1::ObjectMeta& metadata) {
    const api::meta::v1::OwnerReference* owner = objects::find_controller(metadata);
    return owner_key(metadata.namespace_, owner ? owner->uid : "");
}

PodOwnerIndex Context::pods_by_owner() {
    if (!indexes.pods_by_owner) indexes.pods_by_owner.emplace(informers.get<api::core::v1::Pod>());
    return *indexes.pods_by_owner;
}

}  // namespace porthole::controllers
