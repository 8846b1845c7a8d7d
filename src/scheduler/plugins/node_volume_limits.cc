#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>

#include "api/core_v1.h"
#include "api/storage_v1.h"
#include "objects/csi_translation.h"
#include "objects/csi_volume.h"
#include "objects/volume_match.h"
#include "scheduler/plugins/plugins.h"

namespace porthole::scheduler {

namespace {

using api::core::v1::PersistentVolume;
using api::core::v1::PersistentVolumeClaim;
using api::storage::v1::CSINode;
using api::storage::v1::CSINodeDriver;
using api::storage::v1::StorageClass;
using api::storage::v1::VolumeAttachment;

constexpr const char* WithoutProvisioner = "kubernetes.io/no-provisioner";
/// The in-tree plug-ins whose volumes count for their driver.
constexpr std::array Counted{"kubernetes.io/aws-ebs", "kubernetes.io/azure-disk", "kubernetes.io/cinder", "kubernetes.io/gce-pd",
                             "kubernetes.io/portworx-volume"};

bool is_counted(const std::string& plugin) { return std::ranges::find(Counted, plugin) != Counted.end(); }

/// Null: no limit.
const std::int32_t* limit_of(const CSINodeDriver& driver) {
    return driver.allocatable && driver.allocatable->count ? &*driver.allocatable->count : nullptr;
}

bool allows_more(const CSINode& old, const CSINode& now) {
    return std::ranges::any_of(now.spec.drivers, [&](const CSINodeDriver& driver) {
        const auto before = std::ranges::find(old.spec.drivers, driver.name, &CSINodeDriver::name);
        const std::int32_t* limit = limit_of(driver);
        const std::int32_t* old_limit = before == old.spec.drivers.end() ? nullptr : limit_of(*before);
        return limit && *limit > (old_limit ? *old_limit : 0);
    });
}

/// A node takes no more volumes of a CSI driver than the driver has said in the node's CSINode. Counted are the volumes of the pods there
/// and those that are attached without a pod; a volume that several pods use is one.
///
/// Differs from Kubernetes: a volume that is attached to the node without a pod, and that the pod names, is one, too, and not two.
class NodeVolumeLimits final : public Plugin {
public:
    explicit NodeVolumeLimits(const Handle& handle)
        : claims_(handle.context.informers.get<PersistentVolumeClaim>()),
          volumes_(handle.context.informers.get<PersistentVolume>()),
          classes_(handle.context.informers.get<StorageClass>()),
          csi_nodes_(handle.context.informers.get<CSINode>()),
          attachments_(handle.context.informers.get<VolumeAttachment>()),
          attachments_of_(attachments_.add_index([](const VolumeAttachment& one) { return std::vector{one.spec.node_name}; })) {
        const auto tell = [happened = handle.happened] { happened({.kind = ClusterEvent::Kind::VolumeRoomGrew}); };
        csi_nodes_.subscribe({.added = [tell](const auto&) { tell(); },
                              .updated =
                                  [tell](const auto& old, const auto& now) {
                                      if (allows_more(*old, *now)) tell();
                                  }});
        attachments_.subscribe({.deleted = [tell](const auto&) { tell(); }});
        volumes_.subscribe({.updated = [this](const auto&, const auto& now) { names_.erase(now->metadata.name); },
                            .deleted = [this](const auto& last) { names_.erase(last->metadata.name); }});
    }

    std::string_view name() const override { return "NodeVolumeLimits"; }
    Task<> wait_for_sync() override {
        for (client::InformerCore* source : {&claims_.core(), &volumes_.core(), &classes_.core(), &csi_nodes_.core(), &attachments_.core()})
            CO_TRY_VOID(co_await source->wait_for_sync());
        co_return {};
    }

    PreFilter pre_filter(const PodInfo& pod, const Cluster&) override {
        wanted_.clear();
        add_volumes(pod, wanted_);
        return wanted_.empty() ? PreFilter::skip() : PreFilter::run();
    }
    bool filter(const NodeInfo& node, FilterStatus& status) override {
        const auto csi_node = csi_nodes_.find({"", node.name()});
        if (!csi_node) return true;
        const auto room = std::ranges::all_of(csi_node->spec.drivers, [&](const CSINodeDriver& driver) {
            const bool is_wanted = std::ranges::any_of(wanted_, [&](const auto& one) { return one.second == driver.name; });
            return !is_wanted || !limit_of(driver) || has_room(node, driver.name, static_cast<std::size_t>(*limit_of(driver)));
        });
        if (!room) status.reject("node(s) exceed max volume count", true);
        return room;
    }
    bool queueing_hint(const ClusterEvent& event, const PodInfo& waiting) const override {
        const auto has_volumes = [](const PodInfo& pod) { return !pod.claims.empty() || !pod.migrated_volumes.empty(); };
        switch (event.kind) {
            case ClusterEvent::Kind::VolumeRoomGrew:
                return has_volumes(waiting);
            case ClusterEvent::Kind::PodRemoved:
                return has_volumes(*event.pod);
            case ClusterEvent::Kind::NodeAdded:
                return true;
            default:
                return false;
        }
    }

private:
    /// Volumes by unique name, with the driver; claims without a volume have a name of their own.
    using Volumes = std::map<std::string, std::string>;
    struct Name {
        std::string name, driver;  ///< "" for a volume that does not count
    };

    bool has_room(const NodeInfo& node, const std::string& driver, std::size_t limit) {
        Volumes used;
        for (const NodeInfo::Entry& entry : node.pods()) add_volumes(*entry.pod, used);
        for (const auto& attachment : attachments_of_.find(node.name())) add_attached(*attachment, used);
        const auto count_of = [&](const Volumes& volumes) {
            return static_cast<std::size_t>(std::ranges::count_if(volumes, [&](const auto& one) { return one.second == driver; }));
        };
        const std::size_t before = count_of(used);
        used.insert(wanted_.begin(), wanted_.end());
        const std::size_t after = count_of(used);
        return after == before || after <= limit;
    }

    void add_volumes(const PodInfo& pod, Volumes& volumes) {
        for (const MigratedVolume& volume : pod.migrated_volumes)
            if (is_counted(volume.plugin)) volumes.emplace(volume.name, volume.driver);
        for (const std::string& name : pod.claims)
            if (const auto claim = claims_.find({pod.namespace_, name})) add_claim(*claim, volumes);
    }
    void add_claim(const PersistentVolumeClaim& claim, Volumes& volumes) {
        if (const auto volume = claim.spec.volume_name.empty() ? nullptr : volumes_.find({"", claim.spec.volume_name})) {
            const Name& name = name_of(*volume);
            if (!name.driver.empty()) volumes.emplace(name.name, name.driver);
            return;
        }
        const auto storage_class = classes_.find({"", objects::class_of(claim)});
        if (!storage_class || storage_class->provisioner == WithoutProvisioner) return;
        const std::string driver = objects::driver_of_in_tree_plugin(storage_class->provisioner);
        if (!driver.empty() && !is_counted(storage_class->provisioner)) return;
        volumes.emplace("claim " + client::key_of(claim).text(), driver.empty() ? storage_class->provisioner : driver);
    }
    void add_attached(const VolumeAttachment& attachment, Volumes& volumes) {
        const auto& source = attachment.spec.source;
        if (source.inline_volume_spec && source.inline_volume_spec->csi)
            volumes.emplace(objects::unique_volume_name(*source.inline_volume_spec->csi), source.inline_volume_spec->csi->driver);
        const auto volume = source.persistent_volume_name ? volumes_.find({"", *source.persistent_volume_name}) : nullptr;
        if (!volume) return;
        const Name& name = name_of(*volume);
        if (!name.driver.empty()) volumes.emplace(name.name, name.driver);
    }
    /// Remembered, because each node asks for the volumes of all its pods.
    const Name& name_of(const PersistentVolume& volume) {
        const auto [entry, made] = names_.try_emplace(volume.metadata.name);
        if (!made) return entry->second;
        const std::string plugin = objects::in_tree_plugin_of(volume);
        const auto translated = objects::translated_to_csi(volume);
        if (translated && translated->spec.csi && (plugin.empty() || is_counted(plugin)))
            entry->second = {objects::unique_volume_name(*translated->spec.csi), translated->spec.csi->driver};
        return entry->second;
    }

    client::Informer<PersistentVolumeClaim>& claims_;
    client::Informer<PersistentVolume>& volumes_;
    client::Informer<StorageClass>& classes_;
    client::Informer<CSINode>& csi_nodes_;
    client::Informer<VolumeAttachment>& attachments_;
    client::Informer<VolumeAttachment>::Index attachments_of_;
    std::unordered_map<std::string, Name> names_;  // by PersistentVolume
    Volumes wanted_;                               // by the pod of the cycle
};

}  // namespace

std::unique_ptr<Plugin> make_node_volume_limits(const Handle& handle) { return std::make_unique<NodeVolumeLimits>(handle); }

}  // namespace porthole::scheduler
