#include "controllers/local_volume/local_volume.h"

#include <algorithm>

#include "controllers/local_volume/node_room.h"
#include "objects/local_volume.h"
#include "objects/owners.h"
#include "objects/volume_match.h"

namespace porthole::controllers {

namespace local_volume = objects::local_volume;
using api::core::v1::PersistentVolume;
using api::core::v1::PersistentVolumeClaim;
using client::NamespacedName;
using client::Requeue;

namespace {

constexpr const char* ProvisionedByAnnotation = "pv.kubernetes.io/provisioned-by";
constexpr const char* SelectedNodeAnnotation = "volume.kubernetes.io/selected-node";
constexpr const char* ProvisionerAnnotation = "volume.kubernetes.io/storage-provisioner";
constexpr const char* Hostname = "kubernetes.io/hostname";
constexpr std::int64_t Smallest = 16 << 20;  // bytes; a file system needs some for itself
constexpr Duration AnotherLook = std::chrono::minutes(5);

std::string value_of(const std::map<std::string, std::string>& texts, const char* key) {
    const auto found = texts.find(key);
    return found == texts.end() ? "" : found->second;
}

Quantity storage_of(const std::map<std::string, Quantity>& amounts) {
    const auto found = amounts.find("storage");
    return found == amounts.end() ? Quantity() : found->second;
}

std::string name_for(const PersistentVolumeClaim& claim) { return "pvc-" + claim.metadata.uid; }

Quantity size_for(const PersistentVolumeClaim& claim) {
    return std::max(storage_of(claim.spec.resources.requests), Quantity::from_value(Smallest, Quantity::Format::BinarySi));
}

PersistentVolume volume_for(const PersistentVolumeClaim& claim, const api::storage::v1::StorageClass& storage_class,
                            const api::core::v1::Node& node) {
    PersistentVolume volume;
    volume.metadata.name = name_for(claim);
    volume.metadata.labels[local_volume::NodeLabel] = node.metadata.name;
    volume.metadata.annotations[ProvisionedByAnnotation] = local_volume::Driver;
    volume.metadata.finalizers = {local_volume::Finalizer};
    volume.spec.capacity["storage"] = size_for(claim);
    volume.spec.access_modes = claim.spec.access_modes;
    volume.spec.claim_ref = objects::object_reference(claim);
    volume.spec.storage_class_name = storage_class.metadata.name;
    volume.spec.persistent_volume_reclaim_policy = storage_class.reclaim_policy.value_or("Delete");
    volume.spec.volume_mode = "Filesystem";
    auto& csi = volume.spec.csi.emplace();
    csi.driver = local_volume::Driver;
    csi.volume_handle = volume.metadata.name;
    csi.volume_attributes = storage_class.parameters;
    auto& term = volume.spec.node_affinity.emplace().required.emplace().node_selector_terms.emplace_back();
    term.match_expressions.push_back({.key = Hostname, .operator_ = "In", .values = {value_of(node.metadata.labels, Hostname)}});
    return volume;
}

}  // namespace

LocalVolumeProvisioner::LocalVolumeProvisioner(Context& context)
    : Controller(context.loop, context.log, {.name = "local-volume-provisioner"}),
      client_(context.client),
      events_(context.events.get(local_volume::Driver)),
      claims_(context.informers.get<PersistentVolumeClaim>()),
      volumes_(context.informers.get<PersistentVolume>()),
      classes_(context.informers.get<StorageClass>()),
      nodes_(context.informers.get<Node>()),
      by_node_(volumes_.add_index([](const PersistentVolume& volume) { return std::vector{local_volume::node_of(volume)}; })) {
    reconcile_each(claims_);
    reconcile_each(volumes_);
    depends_on(classes_);
    depends_on(nodes_).subscribe({.deleted = [this](const auto& node) {
        for (const VolumeRef& volume : by_node_.find(node->metadata.name)) queue().add(client::key_of(*volume));
    }});
}

Task<Requeue> LocalVolumeProvisioner::reconcile(NamespacedName key) {
    if (key.namespace_.empty()) {
        if (const VolumeRef volume = volumes_.find(key); volume && local_volume::is_local(*volume))
            CO_TRY_VOID(co_await sync_volume(volume));
        co_return Requeue::never();
    }
    const ClaimRef claim = claims_.find(key);
    if (!claim || claim->metadata.deletion_timestamp || !claim->spec.volume_name.empty()) co_return Requeue::never();
    if (value_of(claim->metadata.annotations, ProvisionerAnnotation) != local_volume::Driver) co_return Requeue::never();
    CO_TRY_VOID(co_await provision(claim));
    co_return Requeue::in(AnotherLook);
}

// --- claims

Task<> LocalVolumeProvisioner::provision(ClaimRef claim) {
    const auto storage_class = classes_.find({"", objects::class_of(*claim)});
    if (!storage_class || storage_class->provisioner != local_volume::Driver || volumes_.find({"", name_for(*claim)})) co_return {};
    if (const std::string why = refusal(*claim, *storage_class); !why.empty()) {
        events_.warning(*claim, "ProvisioningFailed",
                        "failed to provision volume with StorageClass \"" + storage_class->metadata.name + "\": " + why);
        co_return {};
    }
    const std::string selected = value_of(claim->metadata.annotations, SelectedNodeAnnotation);
    if (selected.empty()) co_return {};  // given back, or not yet scheduled
    const auto node = nodes_.find({"", selected});
    if (!node) co_return co_await give_back(claim, "node \"" + selected + "\" not found");
    if (!node->metadata.labels.contains(Hostname))
        co_return co_await give_back(claim, "node \"" + selected + "\" has no label " + Hostname);
    if (const auto room = room_beside(*node, by_node_.find(selected)); room && *room < size_for(*claim))
        co_return co_await give_back(claim, "not enough free storage on node \"" + selected + "\": " + size_for(*claim).to_string() +
                                                " requested, " + room->to_string() + " left by other volumes");
    const std::string name = name_for(*claim);
    events_.normal(*claim, "Provisioning", "provisioning volume for claim \"" + client::key_of(*claim).text() + "\"");
    const auto made = co_await client_.create(volume_for(*claim, *storage_class, *node));
    if (!made && made.error().reason == Reason::AlreadyExists) co_return {};
    if (!made) {
        events_.warning(*claim, "ProvisioningFailed", made.error().message);
        co_return made.error();
    }
    events_.normal(*claim, "ProvisioningSucceeded", "Successfully provisioned volume " + name);
    log().info("volume provisioned", {{"claim", client::key_of(*claim).text()}, {"volume", name}, {"node", selected}});
    co_return {};
}

std::string LocalVolumeProvisioner::refusal(const PersistentVolumeClaim& claim, const StorageClass& storage_class) const {
    if (storage_class.volume_binding_mode != "WaitForFirstConsumer")
        return "volumeBindingMode must be WaitForFirstConsumer: the volume is on the node of the first pod";
    if (!storage_class.mount_options.empty()) return "mountOptions are not supported";
    for (const auto& [key, value] : storage_class.parameters) {
        if (key != local_volume::SizeEnforcement) return "parameter \"" + key + "\" is not supported";
        if (value != local_volume::Required && value != local_volume::BestEffort)
            return "parameter " + key + " must be " + local_volume::Required + " or " + local_volume::BestEffort;
    }
    if (claim.spec.volume_mode.value_or("Filesystem") != "Filesystem") return "volumeMode Block is not supported";
    for (const std::string& mode : claim.spec.access_modes)
        if (mode != "ReadWriteOnce" && mode != "ReadWriteOncePod")
            return "access mode " + mode + " is not supported: the volume is on one node";
    if (claim.spec.selector) return "claim Selector is not supported";
    if (claim.spec.data_source || claim.spec.data_source_ref) return "dataSource is not supported";
    return "";
}

/// The scheduler notices that the node is no longer selected, and looks for another.
Task<> LocalVolumeProvisioner::give_back(ClaimRef claim, std::string message) {
    events_.warning(*claim, "ProvisioningFailed", std::move(message));
    PersistentVolumeClaim returned = *claim;
    returned.metadata.annotations.erase(SelectedNodeAnnotation);
    CO_TRY_VOID(co_await client_.update(std::move(returned)));
    co_return {};
}

// --- volumes

Task<> LocalVolumeProvisioner::sync_volume(VolumeRef volume) {
    if (!volume->metadata.deletion_timestamp) {
        const bool ours = value_of(volume->metadata.annotations, ProvisionedByAnnotation) == local_volume::Driver;
        if (!ours || volume->status.phase != "Released" || volume->spec.persistent_volume_reclaim_policy != "Delete") co_return {};
        co_return co_await client_.remove<PersistentVolume>(client::key_of(*volume), {.uid = volume->metadata.uid});
    }
    if (volume->status.phase == "Bound" || !objects::has_finalizer(volume->metadata, local_volume::Finalizer)) co_return {};
    // Its node takes the finalizer away. Where there is no such node any more, the data are gone with it.
    const std::string node = local_volume::node_of(*volume);
    if (nodes_.find({"", node})) co_return {};
    if (!node.empty()) {
        const auto live = co_await client_.get<Node>({"", node});
        if (live) co_return {};
        if (!is_not_found(live)) co_return live.error();
    }
    PersistentVolume free = *volume;
    std::erase(free.metadata.finalizers, local_volume::Finalizer);
    CO_TRY_VOID(co_await client_.update(std::move(free)));
    co_return {};
}

Result<ControllerPtr> make_local_volume_provisioner(Context& context) { return make_controller<LocalVolumeProvisioner>(context); }

}  // namespace porthole::controllers
