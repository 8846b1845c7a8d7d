#include "scheduler/plugins/volume_binder.h"

#include <algorithm>

#include "api/kubescheduler_v1.h"
#include "api/storage_v1.h"
#include "base/strings.h"
#include "objects/csi_translation.h"
#include "objects/owners.h"
#include "objects/selectors.h"
#include "objects/volume_match.h"
#include "scheduler/framework/convert.h"
#include "scheduler/framework/plugin.h"
#include "schema/json/json.h"
#include "schema/value.h"

namespace porthole::scheduler {

namespace {

namespace core = api::core::v1;
namespace storage = api::storage::v1;
using schema::Value;

constexpr const char* NoProvisioner = "kubernetes.io/no-provisioner";
constexpr const char* SelectedNode = "volume.kubernetes.io/selected-node";
constexpr const char* MigratedPlugins = "storage.alpha.kubernetes.io/migrated-plugins";

Quantity amount(const std::map<std::string, Quantity>& amounts) {
    const auto found = amounts.find("storage");
    return found == amounts.end() ? Quantity() : found->second;
}

VolumeInfo::Terms node_terms(const core::PersistentVolume& volume) {
    if (!volume.spec.node_affinity || !volume.spec.node_affinity->required) return std::nullopt;
    std::vector<NodeSelectorTerm> terms;
    for (const auto& term : volume.spec.node_affinity->required->node_selector_terms) terms.push_back(node_term(term));
    return terms;
}

VolumeInfo volume_info(const core::PersistentVolume& volume) {
    VolumeInfo info{.node_terms = node_terms(volume), .in_tree_plugin = objects::in_tree_plugin_of(volume)};
    if (info.in_tree_plugin.empty()) return info;
    const auto translated = objects::translated_to_csi(volume);
    info.migrated_terms = translated ? node_terms(*translated) : info.node_terms;
    return info;
}

/// Whether a CSI driver of the node does the work of the in-tree plug-in.
bool has_migrated(const storage::CSINode& node, const std::string& plugin) {
    const auto list = node.metadata.annotations.find(MigratedPlugins);
    if (list == node.metadata.annotations.end()) return false;
    const auto plugins = split(list->second, ',');
    return std::ranges::find(plugins, plugin) != plugins.end();
}

/// Without terms every node is allowed.
bool allows(const std::vector<core::TopologySelectorTerm>& terms, const Labels& labels) {
    const auto fits = [&](const core::TopologySelectorLabelRequirement& one) {
        const auto label = labels.find(one.key);
        return label != labels.end() && std::ranges::find(one.values, label->second) != one.values.end();
    };
    return terms.empty() || std::ranges::any_of(terms, [&](const core::TopologySelectorTerm& term) {
               return std::ranges::all_of(term.match_label_expressions, fits);
           });
}

/// The largest volume that the capacity allows; nothing: unknown.
const std::optional<Quantity>& volume_limit(const storage::CSIStorageCapacity& capacity) {
    return capacity.maximum_volume_size ? capacity.maximum_volume_size : capacity.capacity;
}

std::string capacity_key(const std::string& storage_class, const std::string& label, const std::string& value) {
    return storage_class + "\n" + label + "=" + value;
}

/// A driver of local disks has a capacity for each node: each is found by a label that its nodes must have, if there is one.
std::string capacity_key(const storage::CSIStorageCapacity& capacity) {
    if (!capacity.node_topology || capacity.node_topology->match_labels.empty()) return capacity.storage_class_name;
    const auto& [label, value] = *capacity.node_topology->match_labels.begin();
    return capacity_key(capacity.storage_class_name, label, value);
}

std::string for_class(const std::string& name) { return "class " + name; }
std::string for_claim(const std::string& namespace_, const std::string& name) { return "claim " + namespace_ + "/" + name; }

std::string key_of(const PodInfo& pod, const std::string& claim) { return pod.namespace_ + "/" + claim; }

std::string selected_node(const core::PersistentVolumeClaim& claim) {
    const auto found = claim.metadata.annotations.find(SelectedNode);
    return found == claim.metadata.annotations.end() ? "" : found->second;
}

template <class T>
const T* find_in(const std::unordered_map<std::string, T>& all, const std::string& key) {
    const auto found = all.find(key);
    return found == all.end() ? nullptr : &found->second;
}

}  // namespace

VolumeBinder::VolumeBinder(const Handle& handle)
    : handle_(handle),
      pods_(handle_.context.informers.get<core::Pod>()),
      claim_source_(handle_.context.informers.get<core::PersistentVolumeClaim>()),
      volume_source_(handle_.context.informers.get<core::PersistentVolume>()),
      unbound_volumes_(volume_source_.add_index([](const core::PersistentVolume& volume) {
          const auto& reference = volume.spec.claim_ref;
          return std::vector{reference ? for_claim(reference->namespace_, reference->name) : for_class(objects::class_of(volume))};
      })),
      classes_(handle_.context.informers.get<storage::StorageClass>()),
      drivers_(handle_.context.informers.get<storage::CSIDriver>()),
      csi_nodes_(handle_.context.informers.get<storage::CSINode>()),
      capacities_(handle_.context.informers.get<storage::CSIStorageCapacity>()),
      capacities_of_(capacities_.add_index([](const storage::CSIStorageCapacity& one) { return std::vector{capacity_key(one)}; })) {
    claim_source_.subscribe({.added =
                                 [this](const auto& now) {
                                     claim_seen(*now);
                                     changed();
                                 },
                             .updated =
                                 [this](const auto&, const auto& now) {
                                     claim_seen(*now);
                                     changed();
                                 },
                             .deleted =
                                 [this](const auto& last) {
                                     claims_.erase(client::key_of(*last).text());
                                     reservations_.erase(client::key_of(*last).text());
                                     changed_.set();
                                 }});
    volume_source_.subscribe({.added = [this](const auto& now) { volume_seen(*now); },
                              .updated = [this](const auto&, const auto& now) { volume_seen(*now); },
                              .deleted = [this](const auto& last) { volumes_.erase(last->metadata.name); }});
    classes_.on_change([this](const storage::StorageClass&) {
        for (const auto& claim : claim_source_.list()) claim_seen(*claim);
        changed();
    });
    pods_.subscribe({.deleted = [this](const auto&) { changed_.set(); }});
    watch_drivers();
}

/// Of what drivers say, only what may let a pod run.
void VolumeBinder::watch_drivers() {
    drivers_.subscribe({.updated = [this](const auto& old, const auto& now) {
        if (old->spec.storage_capacity.value_or(false) && !now->spec.storage_capacity.value_or(false)) changed();
    }});
    csi_nodes_.subscribe({.added =
                              [this](const auto& now) {
                                  if (now->metadata.annotations.contains(MigratedPlugins)) changed();
                              },
                          .updated =
                              [this](const auto& old, const auto& now) {
                                  if (old->metadata.annotations != now->metadata.annotations) changed();
                              }});
    capacities_.subscribe({.added = [this](const auto&) { changed(); },
                           .updated =
                               [this](const auto& old, const auto& now) {
                                   const auto &before = volume_limit(*old), &after = volume_limit(*now);
                                   if (after && (!before || *before < *after)) changed();
                               }});
}

Task<> VolumeBinder::wait_for_sync() {
    for (client::InformerCore* source : {&pods_.core(), &claim_source_.core(), &volume_source_.core(), &classes_.core(), &drivers_.core(),
                                         &csi_nodes_.core(), &capacities_.core()}) {
        CO_TRY_VOID(co_await source->wait_for_sync());
    }
    co_return {};
}

const ClaimInfo* VolumeBinder::find_claim(const PodInfo& pod, const std::string& name) const { return find_in(claims_, key_of(pod, name)); }

const std::string* VolumeBinder::find_reserved_node(const PodInfo& pod, const std::string& name) const {
    const Reservation* found = find_in(reservations_, key_of(pod, name));
    return found ? &found->node : nullptr;
}

void VolumeBinder::reserve(const PodInfo& pod, const std::string& node) {
    for (const std::string& name : pod.claims) {
        const ClaimInfo* claim = find_claim(pod, name);
        if (!claim || !claim->volume.empty()) continue;
        Reservation& reservation = reservations_[key_of(pod, name)];
        reservation.node = node;
        reservation.pods.insert(pod.uid);
    }
}

void VolumeBinder::unreserve(const PodInfo& pod) {
    for (const std::string& name : pod.claims) {
        const auto found = reservations_.find(key_of(pod, name));
        if (found == reservations_.end() || found->second.pods.erase(pod.uid) == 0 || !found->second.pods.empty()) continue;
        reservations_.erase(found);
        changed();
    }
}

const VolumeInfo* VolumeBinder::find_volume(const std::string& name) const { return find_in(volumes_, name); }

bool VolumeBinder::is_usable(const VolumeInfo& volume, const NodeInfo& node) const {
    const VolumeInfo::Terms* terms = &volume.node_terms;
    if (!volume.in_tree_plugin.empty()) {
        const auto csi_node = csi_nodes_.find({"", node.name()});
        if (csi_node && has_migrated(*csi_node, volume.in_tree_plugin)) terms = &volume.migrated_terms;
    }
    return !*terms ||
           std::ranges::any_of(**terms, [&](const NodeSelectorTerm& term) { return term.matches(node.spec().labels, node.name()); });
}

bool VolumeBinder::can_provision(const ClaimInfo& claim, const NodeInfo& node, bool& has_room) const {
    const auto storage_class = claim.provisioned_by.empty() ? nullptr : classes_.find({"", claim.provisioned_by});
    if (!storage_class || !allows(storage_class->allowed_topologies, node.spec().labels)) return false;
    has_room = claim.size == 0 || has_capacity(*storage_class, claim.size, node.spec().labels);
    return has_room;
}

bool VolumeBinder::has_capacity(const storage::StorageClass& storage_class, std::int64_t size, const Labels& labels) const {
    const auto driver = drivers_.find({"", storage_class.provisioner});
    if (!driver || !driver->spec.storage_capacity.value_or(false)) return true;
    const auto fits = [&](const auto& capacity) {
        const auto& limit = volume_limit(*capacity);
        return limit && limit->value() >= size && capacity->node_topology && objects::matches(*capacity->node_topology, labels);
    };
    const std::string& name = storage_class.metadata.name;
    return std::ranges::any_of(capacities_of_.find(name), fits) || std::ranges::any_of(labels, [&](const auto& label) {
               return std::ranges::any_of(capacities_of_.find(capacity_key(name, label.first, label.second)), fits);
           });
}

void VolumeBinder::claim_seen(const core::PersistentVolumeClaim& claim) {
    const auto storage_class = classes_.find({"", objects::class_of(claim)});
    const bool bound = claim.metadata.annotations.contains("pv.kubernetes.io/bind-completed") || claim.status.phase == "Bound";
    const auto* controller = objects::find_controller(claim.metadata);
    ClaimInfo info{.volume = bound ? claim.spec.volume_name : "",
                   .terminating = claim.metadata.deletion_timestamp.has_value(),
                   .lost = claim.status.phase == "Lost",
                   .named_volume = claim.spec.volume_name,
                   .controller = controller ? controller->uid : "",
                   .selected_node = selected_node(claim),
                   .waits_for_consumer = storage_class && storage_class->volume_binding_mode == "WaitForFirstConsumer"};
    if (!bound && info.waits_for_consumer) {
        if (storage_class->provisioner != NoProvisioner) info.provisioned_by = storage_class->metadata.name;
        info.size = amount(claim.spec.resources.requests).value();
    }
    const std::string key = client::key_of(claim).text();
    if (bound) reservations_.erase(key);
    claims_[key] = std::move(info);
}

void VolumeBinder::volume_seen(const core::PersistentVolume& volume) {
    volumes_[volume.metadata.name] = volume_info(volume);
    changed();
}

std::vector<const VolumeInfo*> VolumeBinder::candidates_for(const PodInfo& pod, const std::string& name) const {
    const auto claim = claim_source_.find({pod.namespace_, name});
    if (!claim) return {};
    for (const auto& volume : unbound_volumes_.find(for_claim(pod.namespace_, name))) {
        if (objects::is_reserved_for(*volume, *claim) && objects::mismatch(*volume, *claim).empty())
            return {&volumes_.at(volume->metadata.name)};
    }
    auto volumes = unbound_volumes_.find(for_class(objects::class_of(*claim)));
    std::erase_if(volumes,
                  [&](const auto& volume) { return volume->status.phase != "Available" || !objects::fits(*volume, *claim, nullptr); });
    std::ranges::sort(volumes,
                      [](const auto& one, const auto& other) { return amount(one->spec.capacity) < amount(other->spec.capacity); });
    std::vector<const VolumeInfo*> found;
    for (const auto& volume : volumes) found.push_back(&volumes_.at(volume->metadata.name));
    return found;
}

void VolumeBinder::changed() {
    changed_.set();
    handle_.happened({.kind = ClusterEvent::Kind::VolumesChanged});
}

bool VolumeBinder::all_bound(const PodInfo& pod) const {
    return std::ranges::all_of(pod.claims, [&](const std::string& name) {
        const ClaimInfo* claim = find_claim(pod, name);
        return claim && !claim->volume.empty();
    });
}

std::set<std::string> VolumeBinder::selected_for(const PodInfo& pod, const std::string& node) const {
    std::set<std::string> names;
    for (const std::string& name : pod.claims) {
        const ClaimInfo* claim = find_claim(pod, name);
        if (claim && claim->volume.empty() && claim->selected_node == node) names.insert(name);
    }
    return names;
}

Task<> VolumeBinder::bind(PodRef pod, std::string node) {
    if (all_bound(*pod)) co_return {};
    for (const std::string& name : pod->claims) {
        const ClaimInfo* claim = find_claim(*pod, name);
        if (claim && !claim->volume.empty()) continue;
        const Value patch = Value::object({{"metadata", Value::object({{"annotations", Value::object({{SelectedNode, node}})}})}});
        CO_TRY_VOID(co_await handle_.context.client.patch<core::PersistentVolumeClaim>({pod->namespace_, name}, client::PatchType::Merge,
                                                                                       schema::to_json(patch)));
    }
    const EventLoop& loop = handle_.context.loop;
    const auto arguments =
        arguments_of<api::kubescheduler::v1::VolumeBindingArgs>(handle_.configuration.profile(pod->scheduler_name), "VolumeBinding");
    const MonotonicTime deadline = loop.now() + std::chrono::seconds(arguments.bind_timeout_seconds.value());
    const auto exists = [&] {
        const auto object = pods_.find({pod->namespace_, pod->name});
        return object && object->metadata.uid == pod->uid;
    };
    const bool is_known = exists();
    std::set<std::string> asked;
    while (!all_bound(*pod)) {
        changed_.reset();
        if (is_known && !exists()) co_return Error(Reason::NotFound, "binding volumes: pod does not exist any more");
        const std::set<std::string> selected = selected_for(*pod, node);
        for (const std::string& name : pod->claims) {
            const ClaimInfo* claim = find_claim(*pod, name);
            if (!claim) co_return Error(Reason::Conflict, "binding volumes: PVC \"" + name + "\" was deleted");
            if (claim->volume.empty() && asked.contains(name) && !selected.contains(name))
                co_return Error(Reason::Conflict, "binding volumes: provisioning failed for PVC \"" + name + "\"");
        }
        asked.insert(selected.begin(), selected.end());
        CO_TRY_VOID(co_await with_timeout(changed_.wait(), deadline - loop.now(), "binding volumes"));
    }
    co_return {};
}

}  // namespace porthole::scheduler
