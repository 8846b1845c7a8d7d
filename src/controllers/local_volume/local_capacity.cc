#include "controllers/local_volume/local_capacity.h"

#include <algorithm>
#include <limits>

#include "controllers/local_volume/node_room.h"
#include "net/tls/x509.h"
#include "objects/local_volume.h"

namespace porthole::controllers {

namespace local_volume = objects::local_volume;
using client::NamespacedName;
using client::Requeue;

namespace {

constexpr const char *CapacityNamespace = "kube-system", *HostnameLabel = "kubernetes.io/hostname";
// As the provisioner of the CSI project marks its own.
constexpr const char *DriverName = "csi.storage.k8s.io/drivername", *ManagedBy = "csi.storage.k8s.io/managed-by";
constexpr std::size_t NameDigits = 32;
constexpr Duration Pause = std::chrono::seconds(1);

bool is_ours(const std::map<std::string, std::string>& labels) {
    const auto driver = labels.find(DriverName);
    return driver != labels.end() && driver->second == local_volume::Driver;
}

/// The node that the capacity is of; "" if it is not ours.
std::string node_of(const api::storage::v1::CSIStorageCapacity& capacity) {
    const auto node = capacity.metadata.annotations.find(local_volume::NodeLabel);
    return !is_ours(capacity.metadata.labels) || node == capacity.metadata.annotations.end() ? "" : node->second;
}

}  // namespace

LocalCapacityPublisher::LocalCapacityPublisher(Context& context)
    : Controller(context.loop, context.log, {.name = "local-capacity-publisher"}),
      client_(context.client),
      nodes_(context.informers.get<Node>()),
      classes_(context.informers.get<StorageClass>()),
      volumes_(context.informers.get<PersistentVolume>()),
      capacities_(context.informers.get<Capacity>()),
      volumes_of_(volumes_.add_index([](const PersistentVolume& volume) { return std::vector{local_volume::node_of(volume)}; })),
      capacities_of_(capacities_.add_index([](const Capacity& one) { return std::vector{node_of(one)}; })) {
    const auto all = [this](const auto&) {
        for (const auto& node : nodes_.list()) soon(node->metadata.name);
    };
    depends_on(classes_).on_change(all);
    depends_on(volumes_).on_change([this](const PersistentVolume& volume) { soon(local_volume::node_of(volume)); });
    depends_on(capacities_).on_change([this](const Capacity& one) { soon(node_of(one)); });
    // Nodes report every few seconds; of that, their storage and their labels count.
    depends_on(nodes_).subscribe({.added = [this](const auto& node) { soon(node->metadata.name); },
                                  .updated =
                                      [this](const auto& old, const auto& now) {
                                          const bool same = old->metadata.labels == now->metadata.labels &&
                                                            room_beside(*old, {}) == room_beside(*now, {});
                                          if (!same) soon(now->metadata.name);
                                      },
                                  .deleted = [this](const auto& node) { soon(node->metadata.name); }});
}

void LocalCapacityPublisher::soon(const std::string& node) {
    if (!node.empty()) queue().add_after({"", node}, Pause);
}

std::map<std::string, LocalCapacityPublisher::Capacity> LocalCapacityPublisher::wanted(const std::string& name) const {
    std::map<std::string, Capacity> all;
    const auto node = nodes_.find({"", name});
    if (!node || !node->metadata.labels.contains(HostnameLabel)) return all;
    const Quantity most = Quantity::from_value(std::numeric_limits<std::int64_t>::max(), Quantity::Format::BinarySi);
    const Quantity room = std::max(room_beside(*node, volumes_of_.find(name)).value_or(most), Quantity());
    for (const auto& storage_class : classes_.list()) {
        if (storage_class->provisioner != local_volume::Driver) continue;
        Capacity one;
        one.metadata.namespace_ = CapacityNamespace;
        one.metadata.name = "local-" + net::to_hex(net::sha256(storage_class->metadata.name + "/" + name)).substr(0, NameDigits);
        one.metadata.labels = {{DriverName, local_volume::Driver}, {ManagedBy, Account}};
        one.metadata.annotations[local_volume::NodeLabel] = name;
        one.storage_class_name = storage_class->metadata.name;
        one.node_topology.emplace().match_labels[HostnameLabel] = node->metadata.labels.at(HostnameLabel);
        one.capacity = room;
        all.emplace(one.metadata.name, std::move(one));
    }
    return all;
}

Task<Requeue> LocalCapacityPublisher::reconcile(NamespacedName key) {
    std::map<std::string, Capacity> missing = wanted(key.name);
    for (const auto& stored : capacities_of_.find(key.name)) {
        const auto found = missing.find(stored->metadata.name);
        const bool is_same_place = found != missing.end() && found->second.storage_class_name == stored->storage_class_name &&
                                   found->second.node_topology == stored->node_topology;
        if (!is_same_place) {  // what cannot be changed
            CO_TRY_VOID(ignore_not_found(co_await client_.remove<Capacity>(client::key_of(*stored), {.uid = stored->metadata.uid})));
            continue;
        }
        if (found->second.capacity != stored->capacity) {
            Capacity changed = *stored;
            changed.capacity = found->second.capacity;
            CO_TRY_VOID(co_await client_.update(std::move(changed)));
        }
        missing.erase(found);
    }
    for (auto& [name, capacity] : missing) {
        const auto made = co_await client_.create(std::move(capacity));
        if (!made && made.error().reason != Reason::AlreadyExists) co_return made.error();
    }
    co_return Requeue::never();
}

Result<ControllerPtr> make_local_capacity_publisher(Context& context) { return make_controller<LocalCapacityPublisher>(context); }

}  // namespace porthole::controllers
