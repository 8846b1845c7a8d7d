#include "controllers/persistent_volume/volume_expander.h"

#include <algorithm>

#include "objects/csi_translation.h"
#include "objects/local_volume.h"
#include "schema/json/json.h"

namespace porthole::controllers {

namespace local_volume = objects::local_volume;
using client::Requeue;

namespace {

constexpr const char* Resizer = "volume.kubernetes.io/storage-resizer";
constexpr const char* Pending = "FileSystemResizePending";

Quantity storage_amount(const std::map<std::string, Quantity>& amounts) {
    const auto found = amounts.find("storage");
    return found == amounts.end() ? Quantity() : found->second;
}

}  // namespace

VolumeExpander::VolumeExpander(Context& context)
    : Controller(context.loop, context.log, {.name = "persistentvolume-expander"}),
      client_(context.client),
      events_(context.events.get("volume_expand")),
      claims_(context.informers.get<PersistentVolumeClaim>()),
      volumes_(context.informers.get<PersistentVolume>()) {
    reconcile_each(claims_);
    depends_on(volumes_);
}

Task<Requeue> VolumeExpander::reconcile(client::NamespacedName key) {
    const ClaimRef claim = claims_.find(key);
    if (!claim || claim->metadata.deletion_timestamp || claim->status.phase != "Bound") co_return Requeue::never();
    const Quantity wanted = storage_amount(claim->spec.resources.requests);
    if (wanted <= storage_amount(claim->status.capacity)) co_return Requeue::never();
    const auto volume = volumes_.find({"", claim->spec.volume_name});
    if (!volume || !volume->spec.claim_ref || volume->spec.claim_ref->uid != claim->metadata.uid) co_return Requeue::never();
    if (const std::string plugin = objects::in_tree_plugin_of(*volume); !plugin.empty()) {
        CO_TRY_VOID(co_await hand_over(claim, plugin));
        co_return Requeue::never();
    }
    if (!local_volume::is_local(*volume)) {
        events_.normal(*claim, "ExternalExpanding", "waiting for an external controller to expand this PVC");
        co_return Requeue::never();
    }
    CO_TRY_VOID(co_await expand(claim, volume));
    co_return Requeue::never();
}

Task<> VolumeExpander::hand_over(ClaimRef claim, std::string plugin) {
    events_.normal(*claim, "ExternalExpanding", "CSI migration enabled for " + plugin + "; waiting for external resizer to expand the pvc");
    const std::string driver = objects::driver_of_in_tree_plugin(plugin);
    const auto named = claim->metadata.annotations.find(Resizer);
    if (named != claim->metadata.annotations.end() && named->second == driver) co_return {};
    schema::Value patch;
    patch.ensure_path({"metadata", "resourceVersion"}) = claim->metadata.resource_version;
    patch.ensure_path({"metadata", "annotations"}) = schema::Value::object({{Resizer, driver}});
    CO_TRY_VOID(
        co_await client_.patch<PersistentVolumeClaim>(client::key_of(*claim), client::PatchType::Merge, schema::to_json(patch), "status"));
    co_return {};
}

/// First the volume, so that the kubelet knows the size when the claim says that it is its turn.
Task<> VolumeExpander::expand(ClaimRef claim, std::shared_ptr<const PersistentVolume> volume) {
    const Quantity wanted = storage_amount(claim->spec.resources.requests);
    if (storage_amount(volume->spec.capacity) < wanted) {
        PersistentVolume grown = *volume;
        grown.spec.capacity["storage"] = wanted;
        CO_TRY_VOID(co_await client_.update(std::move(grown)));
    }
    if (std::ranges::any_of(claim->status.conditions, [](const auto& condition) { return condition.type == Pending; })) co_return {};
    PersistentVolumeClaim told = *claim;
    told.status.allocated_resources["storage"] = wanted;
    told.status.allocated_resource_statuses["storage"] = "NodeResizePending";
    auto& condition = told.status.conditions.emplace_back();
    condition.type = Pending;
    condition.status = "True";
    condition.last_transition_time = Timestamp(loop().wall_now());
    condition.message = "Waiting for user to (re-)start a pod to finish file system resize of volume on node.";
    CO_TRY_VOID(co_await client_.update_status(std::move(told)));
    events_.normal(*claim, "FileSystemResizeRequired", "Require file system resize of volume on node");
    co_return {};
}

Result<ControllerPtr> make_persistent_volume_expander(Context& context) { return make_controller<VolumeExpander>(context); }

}  // namespace porthole::controllers
