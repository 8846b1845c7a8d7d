#pragma once
#include <string>

#include "api/meta_v1.h"
#include "client/client.h"
#include "objects/owners.h"
#include "schema/type.h"

namespace porthole::controllers {

/// Whoever owns dependents, whatever its kind.
struct Owner {
    const schema::Kind& kind;
    const api::meta::v1::ObjectMeta& metadata;

    api::core::v1::ObjectReference reference() const { return objects::object_reference(kind, metadata); }
    api::meta::v1::OwnerReference controller_reference() const { return objects::controller_reference(kind, metadata); }
    client::NamespacedName key() const { return {metadata.namespace_, metadata.name}; }
};

template <class T>
Owner owner_of(const T& object) {
    return {T::kind(), object.metadata};
}

}  // namespace porthole::controllers
