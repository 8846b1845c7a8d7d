#include "controllers/framework/context.h"

#include "objects/owners.h"

namespace porthole::controllers {

std::string orphans_of(const std::string& namespace_) { return "orphans of " + namespace_; }

std::string owner_key(const api::meta::v1::ObjectMeta& metadata) {
    const api::meta::v1::OwnerReference* owner = objects::find_controller(metadata);
    return owner ? owner->uid : orphans_of(metadata.namespace_);
}

PodIndex Context::pods_by_owner() {
    if (!indexes.pods_by_owner) indexes.pods_by_owner = index_by_owner(informers.get<api::core::v1::Pod>());
    return *indexes.pods_by_owner;
}

}  // namespace porthole::controllers
