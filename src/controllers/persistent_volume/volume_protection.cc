#include "controllers/persistent_volume/volume_protection.h"

#include <algorithm>

#include "controllers/persistent_volume/claims_of.h"
#include "objects/owners.h"

namespace porthole::controllers {

using client::Requeue;

namespace {

constexpr const char* ClaimFinalizer = "kubernetes.io/pvc-protection";
constexpr const char* VolumeFinalizer = "kubernetes.io/pv-protection";

/// Its kubelet has let go of it, or it was deleted by force: only finalizers keep it.
bool is_shut_down(const api::core::v1::Pod& pod) {
    return pod.metadata.deletion_timestamp && pod.metadata.deletion_grace_period_seconds == 0;
}

/// A pod without a node does not: neither scheduler nor kubelet lets it start with a claim that is being deleted.
bool uses(const api::core::v1::Pod& pod, const api::core::v1::PersistentVolumeClaim& claim) {
    if (pod.spec.node_name.empty()) return false;
    return std::ranges::any_of(pod.spec.volumes, [&](const api::core::v1::Volume& volume) {
        if (volume.persistent_volume_claim) return volume.persistent_volume_claim->claim_name == claim.metadata.name;
        return volume.ephemeral && !is_shut_down(pod) && ephemeral_claim_name(pod, volume) == claim.metadata.name &&
               objects::is_controlled_by(claim.metadata, pod.metadata.uid);
    });
}

bool is_held(const api::meta::v1::ObjectMeta& metadata, const char* finalizer) {
    return metadata.deletion_timestamp && objects::has_finalizer(metadata, finalizer);
}

/// Admission adds it to new objects; this is for those that have lost it, or are from before.
bool lacks(const api::meta::v1::ObjectMeta& metadata, const char* finalizer) {
    return !metadata.deletion_timestamp && !objects::has_finalizer(metadata, finalizer);
}

template <class T>
T with_finalizer(const T& object, const char* finalizer) {
    T held = object;
    held.metadata.finalizers.emplace_back(finalizer);
    return held;
}

template <class T>
T without_finalizer(const T& object, const char* finalizer) {
    T free = object;
    std::erase(free.metadata.finalizers, finalizer);
    return free;
}

}  // namespace

ClaimProtection::ClaimProtection(Context& context)
    : Controller(context.loop, context.log, {.name = "persistentvolumeclaim-protection"}),
      client_(context.client),
      pods_(context.informers.get<Pod>()),
      claims_(context.informers.get<Claim>()),
      by_claim_(pods_.add_index(claims_of)) {
    reconcile_each(claims_);
    depends_on(pods_).on_change([this](const Pod& pod) {
        for (const std::string& claim : claims_of(pod))
            queue().add({pod.metadata.namespace_, claim.substr(pod.metadata.namespace_.size() + 1)});
    });
}

Task<bool> ClaimProtection::is_used(const Claim& claim) {
    for (const auto& pod : by_claim_.find(client::key_of(claim).text()))
        if (uses(*pod, claim)) co_return true;
    CO_TRY(const auto live, co_await client_.list<Pod>({.namespace_ = claim.metadata.namespace_}));
    co_return std::ranges::any_of(live.items, [&](const Pod& pod) { return uses(pod, claim); });
}

Task<Requeue> ClaimProtection::reconcile(client::NamespacedName key) {
    const auto claim = claims_.find(key);
    if (claim && lacks(claim->metadata, ClaimFinalizer)) CO_TRY_VOID(co_await client_.update(with_finalizer(*claim, ClaimFinalizer)));
    if (!claim || !is_held(claim->metadata, ClaimFinalizer)) co_return Requeue::never();
    CO_TRY(const bool used, co_await is_used(*claim));
    if (!used) CO_TRY_VOID(co_await client_.update(without_finalizer(*claim, ClaimFinalizer)));
    co_return Requeue::never();
}

VolumeProtection::VolumeProtection(Context& context)
    : Controller(context.loop, context.log, {.name = "persistentvolume-protection"}),
      client_(context.client),
      volumes_(context.informers.get<Volume>()) {
    reconcile_each(volumes_);
}

Task<Requeue> VolumeProtection::reconcile(client::NamespacedName key) {
    const auto volume = volumes_.find(key);
    if (volume && lacks(volume->metadata, VolumeFinalizer)) CO_TRY_VOID(co_await client_.update(with_finalizer(*volume, VolumeFinalizer)));
    if (volume && is_held(volume->metadata, VolumeFinalizer) && volume->status.phase != "Bound")
        CO_TRY_VOID(co_await client_.update(without_finalizer(*volume, VolumeFinalizer)));
    co_return Requeue::never();
}

Result<ControllerPtr> make_persistent_volume_claim_protection(Context& context) { return make_controller<ClaimProtection>(context); }
Result<ControllerPtr> make_persistent_volume_protection(Context& context) { return make_controller<VolumeProtection>(context); }

}  // namespace porthole::controllers
