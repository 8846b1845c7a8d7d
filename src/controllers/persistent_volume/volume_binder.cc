#include "controllers/persistent_volume/volume_binder.h"

#include <algorithm>

#include "base/result.h"
#include "base/strings.h"
#include "controllers/persistent_volume/claims_of.h"
#include "objects/csi_translation.h"
#include "objects/owners.h"
#include "objects/pods.h"
#include "objects/volume_match.h"

namespace porthole::controllers {

using api::core::v1::Node;
using api::core::v1::PersistentVolume;
using api::core::v1::PersistentVolumeClaim;
using client::NamespacedName;
using client::Requeue;

namespace {

constexpr const char* BindCompleted = "pv.kubernetes.io/bind-completed";
constexpr const char* BoundByController = "pv.kubernetes.io/bound-by-controller";
constexpr const char* ProvisionedBy = "pv.kubernetes.io/provisioned-by";
constexpr const char* SelectedNode = "volume.kubernetes.io/selected-node";
constexpr const char* Provisioner = "volume.kubernetes.io/storage-provisioner";
constexpr const char* OldProvisioner = "volume.beta.kubernetes.io/storage-provisioner";
constexpr const char* DefaultClass = "storageclass.kubernetes.io/is-default-class";
constexpr const char* MigratedTo = "pv.kubernetes.io/migrated-to";
constexpr const char* InTreeFinalizer = "kubernetes.io/pv-controller";
/// Provisioners of this prefix were part of Kubernetes.
constexpr std::string_view InTreePrefix = "kubernetes.io/";

std::string annotation(const api::meta::v1::ObjectMeta& metadata, const char* key) {
    const auto found = metadata.annotations.find(key);
    return found == metadata.annotations.end() ? "" : found->second;
}

/// Names the driver that took over from the provisioner of the annotations; whether that changed something.
bool name_driver(std::map<std::string, std::string>& annotations, const std::string& provisioner) {
    if (provisioner.empty()) return false;
    const std::string driver = objects::driver_of_in_tree_plugin(provisioner);
    if (driver.empty()) return annotations.erase(MigratedTo) > 0;
    return std::exchange(annotations[MigratedTo], driver) != driver;
}

/// Whether the volume's data are deleted by a program that is not part of the cluster.
bool has_external_deleter(const PersistentVolume& volume) {
    const std::string provisioner = annotation(volume.metadata, ProvisionedBy);
    if (!provisioner.empty() && !provisioner.starts_with(InTreePrefix)) return true;
    return volume.metadata.annotations.contains(MigratedTo) || volume.spec.csi;
}

/// The claim in that phase, with nothing of a volume's in its status.
PersistentVolumeClaim without_volume(PersistentVolumeClaim claim, const char* phase) {
    claim.status.phase = phase;
    claim.status.access_modes.clear();
    claim.status.capacity.clear();
    claim.status.current_volume_attributes_class_name.reset();
    return claim;
}

NamespacedName claim_key(const PersistentVolume& volume) { return {volume.spec.claim_ref->namespace_, volume.spec.claim_ref->name}; }

}  // namespace

VolumeBinder::VolumeBinder(Context& context)
    : Controller(context.loop, context.log, {.name = "persistentvolume-controller"}),
      client_(context.client),
      events_(context.events.get("persistentvolume-controller")),
      claims_(context.informers.get<PersistentVolumeClaim>()),
      volumes_(context.informers.get<PersistentVolume>()),
      classes_(context.informers.get<StorageClass>()),
      nodes_(context.informers.get<Node>()),
      by_volume_(claims_.add_index([](const PersistentVolumeClaim& claim) { return std::vector{claim.spec.volume_name}; })),
      pods_by_claim_(depends_on(context.informers.get<api::core::v1::Pod>()).add_index(claims_of)) {
    reconcile_each(claims_);
    reconcile_each(volumes_);
    depends_on(nodes_);
    depends_on(classes_).on_change([this](const StorageClass&) { retry_unbound_claims(); });
    volumes_.on_change([this](const PersistentVolume& volume) {
        if (volume.spec.claim_ref)
            queue().add(claim_key(volume));
        else
            retry_unbound_claims();
        for (const auto& claim : by_volume_.find(volume.metadata.name)) queue().add(client::key_of(*claim));
    });
    claims_.on_change([this](const PersistentVolumeClaim& claim) {
        if (!claim.spec.volume_name.empty()) queue().add({"", claim.spec.volume_name});
    });
}

void VolumeBinder::retry_unbound_claims() {
    for (const auto& claim : by_volume_.find("")) queue().add(client::key_of(*claim));
}

Task<Requeue> VolumeBinder::reconcile(NamespacedName key) {
    if (key.namespace_.empty()) {
        if (const VolumeRef volume = volumes_.find(key)) CO_TRY_VOID(co_await sync_volume(volume));
        co_return Requeue::never();
    }
    const ClaimRef claim = claims_.find(key);
    if (claim && !claim->metadata.deletion_timestamp) CO_TRY_VOID(co_await sync_claim(claim));
    if (claim) co_return Requeue::never();
    // Gone: the volume that it had is released.
    for (const VolumeRef& volume : volumes_.list())
        if (volume->spec.claim_ref && claim_key(*volume) == key) queue().add(client::key_of(*volume));
    co_return Requeue::never();
}

// --- claims

Task<bool> VolumeBinder::hand_over(ClaimRef claim) {
    PersistentVolumeClaim changed = *claim;
    std::string provisioner = annotation(claim->metadata, Provisioner);
    if (provisioner.empty()) provisioner = annotation(claim->metadata, OldProvisioner);
    if (!name_driver(changed.metadata.annotations, provisioner)) co_return false;
    CO_TRY_VOID(co_await client_.update(std::move(changed)));
    co_return true;
}

Task<> VolumeBinder::sync_claim(ClaimRef claim) {
    CO_TRY(const bool changed, co_await hand_over(claim));
    if (changed) co_return {};
    if (!claim->spec.volume_name.empty()) co_return co_await sync_bound_claim(claim);
    if (!annotation(claim->metadata, BindCompleted).empty())
        co_return co_await lose(claim, "ClaimLost", "Bound claim has lost reference to PersistentVolume. Data on the volume is lost!");
    const auto node = selected_node(*claim);
    const bool early = waits_for_consumer(*claim) && !node;
    const VolumeRef volume = objects::choose_volume(volumes_.list(), *claim, node.get());
    if (volume && (!early || objects::is_reserved_for(*volume, *claim))) co_return co_await bind(claim, volume);
    co_return co_await wait_for_volume(claim);
}

/// A volumeName is there: written by us, by a provisioner, or by a person who wants that very volume.
Task<> VolumeBinder::sync_bound_claim(ClaimRef claim) {
    const bool was_bound = !annotation(claim->metadata, BindCompleted).empty();
    const VolumeRef volume = volumes_.find({"", claim->spec.volume_name});
    if (!volume) {
        if (was_bound)
            co_return co_await lose(claim, "ClaimLost", "Bound claim has lost its PersistentVolume. Data on the volume is lost!");
        co_return co_await set_pending(claim);
    }
    const bool free = !volume->spec.claim_ref;
    if (!free && !objects::is_reserved_for(*volume, *claim)) {
        if (was_bound)
            co_return co_await lose(claim, "ClaimMisbound", "Two claims are bound to the same volume, this one is bound incorrectly");
        events_.warning(*claim, "FailedBinding", "volume \"" + volume->metadata.name + "\" already bound to a different claim.");
        co_return co_await set_pending(claim);
    }
    if (const std::string why = free && !was_bound ? objects::mismatch(*volume, *claim) : ""; !why.empty()) {
        events_.warning(*claim, "VolumeMismatch", "Cannot bind to requested volume \"" + volume->metadata.name + "\": " + why);
        co_return co_await set_pending(claim);
    }
    co_return co_await bind(claim, volume);
}

Task<> VolumeBinder::bind(ClaimRef claim, VolumeRef volume) {
    PersistentVolume taken = *volume;
    if (!taken.spec.claim_ref) taken.metadata.annotations[BoundByController] = "yes";
    if (!taken.spec.claim_ref || taken.spec.claim_ref->uid.empty()) {
        taken.spec.claim_ref = objects::object_reference(*claim);
        CO_TRY(taken, co_await client_.update(std::move(taken)));
    }
    CO_TRY_VOID(co_await set_phase(std::make_shared<const PersistentVolume>(taken), "Bound"));

    PersistentVolumeClaim bound = *claim;
    if (bound.spec.volume_name.empty()) {
        bound.spec.volume_name = taken.metadata.name;
        bound.metadata.annotations[BoundByController] = "yes";
    }
    bound.metadata.annotations[BindCompleted] = "yes";
    if (bound != *claim) {
        CO_TRY(bound, co_await client_.update(std::move(bound)));
    }
    auto status = bound.status;
    status.phase = "Bound";
    status.access_modes = taken.spec.access_modes;
    if (bound.status.phase != "Bound") status.capacity = taken.spec.capacity;
    // Later only the driver's resizer knows which attributes the volume has.
    if (bound.status.phase == "Pending") status.current_volume_attributes_class_name = taken.spec.volume_attributes_class_name;
    if (status == bound.status) co_return {};
    bound.status = std::move(status);
    CO_TRY_VOID(co_await client_.update_status(std::move(bound)));
    log().info("claim bound", {{"claim", client::key_of(*claim).text()}, {"volume", taken.metadata.name}});
    co_return {};
}

Task<> VolumeBinder::lose(ClaimRef claim, std::string reason, std::string message) {
    if (claim->status.phase == "Lost") co_return {};
    CO_TRY_VOID(co_await client_.update_status(without_volume(*claim, "Lost")));
    events_.warning(*claim, std::move(reason), std::move(message));
    co_return {};
}

Task<> VolumeBinder::set_pending(ClaimRef claim) {
    PersistentVolumeClaim pending = without_volume(*claim, "Pending");
    if (pending.status == claim->status) co_return {};
    CO_TRY_VOID(co_await client_.update_status(std::move(pending)));
    co_return {};
}

/// Of several, the newest; "" for none.
std::string VolumeBinder::default_class() const {
    std::shared_ptr<const StorageClass> best;
    for (const auto& one : classes_.list()) {
        if (annotation(one->metadata, DefaultClass) != "true") continue;
        if (!best || best->metadata.creation_timestamp < one->metadata.creation_timestamp) best = one;
    }
    return best ? best->metadata.name : "";
}

bool VolumeBinder::waits_for_consumer(const PersistentVolumeClaim& claim) const {
    const auto found = classes_.find({"", objects::class_of(claim)});
    return found && found->volume_binding_mode == "WaitForFirstConsumer";
}

std::shared_ptr<const Node> VolumeBinder::selected_node(const PersistentVolumeClaim& claim) const {
    const std::string name = annotation(claim.metadata, SelectedNode);
    return name.empty() ? nullptr : nodes_.find({"", name});
}

Task<> VolumeBinder::wait_for_volume(ClaimRef claim) {
    CO_TRY_VOID(co_await set_pending(claim));
    const std::string& name = objects::class_of(*claim);
    if (name.empty()) {
        if (const std::string standard = default_class(); !objects::names_class(*claim) && !standard.empty()) {
            PersistentVolumeClaim assigned = *claim;
            assigned.spec.storage_class_name = standard;
            CO_TRY_VOID(co_await client_.update(std::move(assigned)));
            co_return {};
        }
        events_.normal(*claim, "FailedBinding", "no persistent volumes available for this claim and no storage class is set");
        co_return {};
    }
    const auto found = classes_.find({"", name});
    if (!found) {
        events_.warning(*claim, "ProvisioningFailed", "storageclass.storage.k8s.io \"" + name + "\" not found");
        co_return {};
    }
    if (waits_for_consumer(*claim) && annotation(claim->metadata, SelectedNode).empty()) {
        tell_waiting_for_consumer(*claim);
        co_return {};
    }
    const std::string driver = objects::driver_of_in_tree_plugin(found->provisioner);
    if (driver.empty() && found->provisioner.starts_with(InTreePrefix)) {  // kubernetes.io/no-provisioner, for example
        events_.warning(*claim, "ProvisioningFailed", "no volume plugin matched name: " + found->provisioner);
        co_return {};
    }
    co_return co_await ask_provisioner(claim, driver.empty() ? found->provisioner : driver);
}

void VolumeBinder::tell_waiting_for_consumer(const PersistentVolumeClaim& claim) {
    std::vector<std::string> pods;
    for (const auto& pod : pods_by_claim_.find(client::key_of(claim).text()))
        if (pod->spec.node_name.empty() && !objects::is_terminal(*pod) && !objects::is_terminating(*pod))
            pods.push_back(pod->metadata.name);
    if (pods.empty())
        events_.normal(claim, "WaitForFirstConsumer", "waiting for first consumer to be created before binding");
    else
        events_.normal(claim, "WaitForPodScheduled",
                       "waiting for pod" + std::string(pods.size() > 1 ? "s " : " ") + join(pods, ",") + " to be scheduled");
}

Task<> VolumeBinder::ask_provisioner(ClaimRef claim, std::string provisioner) {
    if (annotation(claim->metadata, Provisioner) != provisioner) {
        PersistentVolumeClaim asking = *claim;
        asking.metadata.annotations[Provisioner] = provisioner;
        asking.metadata.annotations[OldProvisioner] = provisioner;
        name_driver(asking.metadata.annotations, provisioner);
        CO_TRY_VOID(co_await client_.update(std::move(asking)));
    }
    events_.normal(*claim, "ExternalProvisioning",
                   "Waiting for a volume to be created either by the external provisioner '" + provisioner +
                       "' or manually by the system administrator. If volume creation is delayed, please verify that the provisioner is "
                       "running and correctly registered.");
    co_return {};
}

// --- volumes

/// What an in-tree provisioner has made is deleted by the driver that took over, which has a finalizer of its own.
Task<bool> VolumeBinder::hand_over(VolumeRef volume) {
    PersistentVolume changed = *volume;
    const std::string provisioner = annotation(volume->metadata, ProvisionedBy);
    name_driver(changed.metadata.annotations, provisioner);
    if (!objects::driver_of_in_tree_plugin(provisioner).empty()) std::erase(changed.metadata.finalizers, InTreeFinalizer);
    if (changed.metadata == volume->metadata) co_return false;
    CO_TRY_VOID(co_await client_.update(std::move(changed)));
    co_return true;
}

Task<> VolumeBinder::sync_volume(VolumeRef volume) {
    CO_TRY(const bool changed, co_await hand_over(volume));
    if (changed) co_return {};
    if (!volume->spec.claim_ref) co_return co_await set_phase(volume, "Available");
    const std::string& uid = volume->spec.claim_ref->uid;
    if (uid.empty()) co_return co_await set_phase(volume, "Available");  // kept for a claim that may come

    std::shared_ptr<const PersistentVolumeClaim> claim = claims_.find(claim_key(*volume));
    if (!claim || claim->metadata.uid != uid) {  // the cache may lag, and a volume is not let go for that
        auto live = co_await client_.get<PersistentVolumeClaim>(claim_key(*volume));
        if (!live && !is_not_found(live)) co_return std::move(live).error();
        if (live && live->metadata.uid == uid)
            claim = std::make_shared<const PersistentVolumeClaim>(std::move(*live));
        else
            co_return co_await release(volume);
    }
    if (claim->spec.volume_name == volume->metadata.name) co_return co_await set_phase(volume, "Bound");
    if (claim->spec.volume_name.empty()) {
        if (!objects::has_same_mode(*volume, *claim)) {
            events_.warning(*volume, "VolumeMismatch",
                            "Cannot bind PersistentVolume to requested PersistentVolumeClaim \"" + claim->metadata.name +
                                "\" due to incompatible volumeMode.");
            events_.warning(*claim, "VolumeMismatch",
                            "Cannot bind PersistentVolume \"" + volume->metadata.name +
                                "\" to requested PersistentVolumeClaim due to incompatible volumeMode.");
            co_return {};
        }
        queue().add(client::key_of(*claim));
        co_return {};
    }
    // The claim has found another one. What was made for it is not needed; what we have promised, we take back; what a person has promised
    // stays, for the next claim of that name.
    const bool made_for_it = !annotation(volume->metadata, ProvisionedBy).empty();
    if (made_for_it && volume->spec.persistent_volume_reclaim_policy == "Delete") co_return co_await release(volume);
    PersistentVolume freed = *volume;
    if (freed.metadata.annotations.erase(BoundByController) > 0)
        freed.spec.claim_ref.reset();
    else
        freed.spec.claim_ref->uid.clear();
    CO_TRY_VOID(co_await client_.update(std::move(freed)));
    co_return {};
}

Task<> VolumeBinder::release(VolumeRef volume) {
    const std::string& policy = volume->spec.persistent_volume_reclaim_policy;
    if (volume->status.phase == "Failed") co_return {};
    if (policy == "Retain" || (policy == "Delete" && has_external_deleter(*volume))) co_return co_await set_phase(volume, "Released");
    const bool deleted = policy == "Delete";
    const std::string reason = deleted ? "VolumeFailedDelete" : "VolumeFailedRecycle";
    const std::string message =
        deleted ? "error getting deleter volume plugin for volume \"" + volume->metadata.name + "\": no deletable volume plugin matched"
                : "No recycler plugin found for the volume!";
    CO_TRY_VOID(co_await set_phase(volume, "Failed", reason, message));
    events_.warning(*volume, reason, message);
    co_return {};
}

Task<> VolumeBinder::set_phase(VolumeRef volume, std::string phase, std::string reason, std::string message) {
    if (volume->status.phase == phase && volume->status.message == message) co_return {};
    PersistentVolume changed = *volume;
    if (changed.status.phase != phase) changed.status.last_phase_transition_time = Timestamp(loop().wall_now());
    changed.status.phase = std::move(phase);
    changed.status.reason = std::move(reason);
    changed.status.message = std::move(message);
    CO_TRY_VOID(co_await client_.update_status(std::move(changed)));
    co_return {};
}

Result<ControllerPtr> make_persistent_volume_binder(Context& context) { return make_controller<VolumeBinder>(context); }

}  // namespace porthole::controllers
