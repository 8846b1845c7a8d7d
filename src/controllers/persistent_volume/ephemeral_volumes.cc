#include "controllers/persistent_volume/ephemeral_volumes.h"

#include "base/result.h"
#include "controllers/persistent_volume/claims_of.h"
#include "objects/owners.h"

namespace porthole::controllers {

using client::Requeue;

EphemeralVolumeController::EphemeralVolumeController(Context& context)
    : Controller(context.loop, context.log, {.name = "ephemeral-volume", .workers = 5}),
      client_(context.client),
      events_(context.events.get("ephemeral_volume")),
      pods_(context.informers.get<Pod>()),
      claims_(context.informers.get<Claim>()),
      pods_by_claim_(pods_.add_index(claims_of)) {
    reconcile_each(pods_);
    // One that is deleted too early is made again.
    depends_on(claims_).subscribe({.deleted = [this](const auto& claim) {
        for (const auto& pod : pods_by_claim_.find(client::key_of(*claim).text())) queue().add(client::key_of(*pod));
    }});
}

Task<Requeue> EphemeralVolumeController::reconcile(client::NamespacedName key) {
    const auto pod = pods_.find(key);
    if (!pod || pod->metadata.deletion_timestamp) co_return Requeue::never();
    for (const auto& volume : pod->spec.volumes)
        if (volume.ephemeral && volume.ephemeral->volume_claim_template) CO_TRY_VOID(co_await ensure_claim(pod, volume));
    co_return Requeue::never();
}

Task<> EphemeralVolumeController::ensure_claim(std::shared_ptr<const Pod> pod, const api::core::v1::Volume& volume) {
    const std::string claim_name = ephemeral_claim_name(*pod, volume);
    if (const auto found = claims_.find({pod->metadata.namespace_, claim_name})) {
        if (objects::is_controlled_by(found->metadata, pod->metadata.uid)) co_return {};
        const std::string message = "ephemeral volume " + volume.name + ": PVC " + pod->metadata.namespace_ + "/" + claim_name +
                                    " was not created for pod " + client::key_of(*pod).text() + " (pod is not owner)";
        events_.warning(*pod, "FailedBinding", message);
        co_return {};
    }
    const auto& wanted = *volume.ephemeral->volume_claim_template;
    Claim claim;
    claim.metadata.namespace_ = pod->metadata.namespace_;
    claim.metadata.name = claim_name;
    claim.metadata.labels = wanted.metadata.labels;
    claim.metadata.annotations = wanted.metadata.annotations;
    claim.metadata.owner_references = {objects::controller_reference(*pod)};
    claim.spec = wanted.spec;
    const auto created = co_await client_.create(std::move(claim));
    if (created || created.error().reason == Reason::AlreadyExists) co_return {};
    if (!is_cancelled(created))
        events_.warning(*pod, "FailedBinding",
                        "ephemeral volume " + volume.name + ": create PVC " + claim_name + ": " + created.error().message);
    co_return created.error();
}

Result<ControllerPtr> make_ephemeral_volume(Context& context) { return make_controller<EphemeralVolumeController>(context); }

}  // namespace porthole::controllers
