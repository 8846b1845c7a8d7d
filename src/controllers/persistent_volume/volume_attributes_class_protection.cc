#include "controllers/persistent_volume/volume_attributes_class_protection.h"

#include "objects/owners.h"

namespace porthole::controllers {

using client::Requeue;

namespace {

constexpr const char* ProtectionFinalizer = "kubernetes.io/vac-protection";

/// Those that it has, wants, and is getting.
std::vector<std::string> classes_of(const api::core::v1::PersistentVolumeClaim& claim) {
    std::vector<std::string> names{claim.spec.volume_attributes_class_name.value_or(""),
                                   claim.status.current_volume_attributes_class_name.value_or("")};
    if (claim.status.modify_volume_status) names.push_back(claim.status.modify_volume_status->target_volume_attributes_class_name);
    std::erase(names, "");
    return names;
}

std::vector<std::string> classes_of(const api::core::v1::PersistentVolume& volume) {
    std::vector<std::string> names{volume.spec.volume_attributes_class_name.value_or("")};
    std::erase(names, "");
    return names;
}

}  // namespace

VolumeAttributesClassProtection::VolumeAttributesClassProtection(Context& context)
    : Controller(context.loop, context.log, {.name = "volumeattributesclass-protection"}),
      client_(context.client),
      classes_(context.informers.get<Class>()),
      claims_(context.informers.get<Claim>().add_index([](const Claim& claim) { return classes_of(claim); })),
      volumes_(context.informers.get<Volume>().add_index([](const Volume& volume) { return classes_of(volume); })) {
    reconcile_each(classes_);
    const auto look_again = [this](const auto& object) {
        for (const std::string& name : classes_of(*object)) queue().add({"", name});
    };
    const auto changed = [look_again](const auto& old, const auto&) { look_again(old); };
    depends_on(context.informers.get<Claim>()).subscribe({.updated = changed, .deleted = look_again});
    depends_on(context.informers.get<Volume>()).subscribe({.updated = changed, .deleted = look_again});
}

Task<Requeue> VolumeAttributesClassProtection::reconcile(client::NamespacedName key) {
    const auto found = classes_.find(key);
    if (!found) co_return Requeue::never();
    const bool has_finalizer = objects::has_finalizer(found->metadata, ProtectionFinalizer);
    const bool deleted = found->metadata.deletion_timestamp.has_value();
    if (deleted != has_finalizer) co_return Requeue::never();
    if (deleted && (!claims_.find(key.name).empty() || !volumes_.find(key.name).empty())) co_return Requeue::never();
    Class changed = *found;
    if (deleted)
        std::erase(changed.metadata.finalizers, ProtectionFinalizer);
    else
        changed.metadata.finalizers.emplace_back(ProtectionFinalizer);
    CO_TRY_VOID(co_await client_.update(std::move(changed)));
    co_return Requeue::never();
}

Result<ControllerPtr> make_volume_attributes_class_protection(Context& context) {
    return make_controller<VolumeAttributesClassProtection>(context);
}

}  // namespace porthole::controllers
