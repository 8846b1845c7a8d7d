#pragma once
#include <string>
#include <vector>

#include "api/meta_v1.h"
#include "client/client.h"
#include "objects/owners.h"
#include "objects/selectors.h"
#include "schema/type.h"

namespace porthole::controllers {

/// An object that owns dependents, of any kind. Borrows the object.
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

// Finds the owners affected by a change of a dependent. `Owners` contains those of one kind, with find(key) and list(namespace) as in
// client::Informer; each has a selector in spec.selector.

/// The object of `owners`, which are of `kind`, that controls the dependent. Null if it is not cached, if another object of the same name
/// has replaced it, or if an object of another kind, or none, controls the dependent.
template <class Owners>
auto find_owner(const Owners& owners, const schema::Kind& kind, const api::meta::v1::ObjectMeta& dependent) {
    using Pointer = decltype(owners.find(client::NamespacedName{}));
    const auto* reference = objects::find_controller(dependent);
    if (!reference || reference->kind != kind.kind) return Pointer();
    Pointer owner = owners.find({dependent.namespace_, reference->name});
    return owner && owner->metadata.uid == reference->uid ? owner : Pointer();
}

/// The owners whose selectors match the dependent: any of them may adopt it if it has no controller.
template <class Owners>
std::vector<client::NamespacedName> matching_owners(const Owners& owners, const api::meta::v1::ObjectMeta& dependent) {
    std::vector<client::NamespacedName> keys;
    for (const auto& owner : owners.list(dependent.namespace_))
        if (objects::matches(owner->spec.selector, dependent.labels)) keys.push_back(client::key_of(*owner));
    return keys;
}

/// The owners to reconcile after a change of the dependent: its controller, or those that may adopt it.
template <class Owners>
std::vector<client::NamespacedName> concerned_owners(const Owners& owners, const schema::Kind& kind,
                                                     const api::meta::v1::ObjectMeta& dependent) {
    if (const auto owner = find_owner(owners, kind, dependent)) return {client::key_of(*owner)};
    if (objects::find_controller(dependent)) return {};
    return matching_owners(owners, dependent);
}

}  // namespace porthole::controllers
