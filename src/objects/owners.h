#pragma once
#include <string>

#include "api/core_v1.h"
#include "api/meta_v1.h"
#include "schema/type.h"

namespace porthole::objects {

/// The reference to the one owner that manages the object (controller=true); nullptr if there is none. It points into `metadata`.
const api::meta::v1::OwnerReference* find_controller(const api::meta::v1::ObjectMeta& metadata);
bool is_controlled_by(const api::meta::v1::ObjectMeta& metadata, const std::string& owner_uid);

/// The owner reference of an object that a controller creates: controller and blockOwnerDeletion are true.
api::meta::v1::OwnerReference controller_reference(const schema::Kind& kind, const api::meta::v1::ObjectMeta& owner);
template <class T>
api::meta::v1::OwnerReference controller_reference(const T& owner) {
    return controller_reference(T::kind(), owner.metadata);
}

/// A full reference to an object, as events and bindings carry it.
api::core::v1::ObjectReference object_reference(const schema::Kind& kind, const api::meta::v1::ObjectMeta& object);
template <class T>
api::core::v1::ObjectReference object_reference(const T& object) {
    return object_reference(T::kind(), object.metadata);
}

bool has_finalizer(const api::meta::v1::ObjectMeta& metadata, const std::string& finalizer);

}  // namespace porthole::objects
