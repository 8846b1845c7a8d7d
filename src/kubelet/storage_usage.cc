#include "kubelet/storage_usage.h"

#include <algorithm>

#include "base/result.h"
#include "client/events.h"
#include "kubelet/pod/pod.h"
#include "kubelet/volumes/csi/csi_volumes.h"
#include "runtime/scope.h"

namespace porthole::kubelet {
namespace {

constexpr Duration Period = std::chrono::minutes(1), DriverLimit = std::chrono::seconds(10);

/// Where to look, written down on the loop for a worker to read.
struct VolumePlace {
    VolumeUse use;
    std::string path;
    bool has_file_system = false;  ///< it may be a whole disk, too much to walk through
};
struct PodPlaces {
    std::string uid;
    std::vector<VolumePlace> volumes;
    std::map<std::string, std::string> logs;
};

bool is_on_node_disk(const core::Volume& volume) {
    return (volume.empty_dir && volume.empty_dir->medium == core::StorageMedium::Empty) || volume.config_map;
}

/// Folders of the node that others own, and images, are nobody's to count.
bool is_measured(const core::Volume& volume) { return !volume.host_path && !volume.image; }

PodPlaces places_of(const core::Pod& pod, const MountedVolumes* mounted, const std::string& log_root) {
    PodPlaces places{.uid = pod.metadata.uid};
    for (const core::Volume& volume : pod.spec.volumes) {
        if (!mounted || !is_measured(volume)) continue;
        const auto found = mounted->find(volume.name);
        if (found == mounted->end() || found->second.is_block || !found->second.csi_driver.empty()) continue;
        if (found->second.is_remote) continue;  // one file server that does not answer would hold up all measuring
        VolumeUse use{.name = volume.name, .claim = found->second.claim, .on_node_disk = is_on_node_disk(volume)};
        const bool has_file_system = found->second.has_file_system || !use.claim.empty();
        places.volumes.push_back({std::move(use), found->second.path, has_file_system});
    }
    for (const ContainerSpec& spec : all_containers(pod))
        places.logs[spec.container.name] = log_root + "/" + pod_log_directory_name(pod) + "/" + spec.container.name;
    return places;
}

bool measure(FileSystem& files, VolumePlace& place) {
    VolumeUse& use = place.use;
    const std::string& path = place.path;
    const auto file_system = files.usage(path);
    if (!file_system) return false;
    use.file_system = *file_system;
    if (place.has_file_system) {
        use.used = {file_system->capacity - file_system->available, file_system->inodes - file_system->inodes_free};
        return true;
    }
    const auto tree = files.tree_usage(path);
    if (tree) use.used = *tree;
    return tree.has_value();
}

StorageUse measure(FileSystem& files, PodPlaces places) {
    StorageUse use;
    for (VolumePlace& volume : places.volumes)
        if (measure(files, volume)) use.volumes.push_back(std::move(volume.use));
    for (const auto& [container, path] : places.logs)
        if (const auto tree = files.tree_usage(path)) use.logs[container] = *tree;
    return use;
}

}  // namespace

TreeUsage StorageUse::on_node_disk() const {
    TreeUsage sum;
    const auto add = [&sum](const TreeUsage& one) {
        sum.bytes += one.bytes;
        sum.inodes += one.inodes;
    };
    for (const VolumeUse& volume : volumes)
        if (volume.on_node_disk) add(volume.used);
    for (const auto& [container, log] : logs) add(log);
    return sum;
}

Task<> StorageUsage::run() {
    for (;;) {
        CO_TRY_VOID(co_await measure());
        CO_TRY_VOID(co_await services_.loop.sleep(Period));
    }
}

Task<> StorageUsage::measure() {
    std::map<std::string, StorageUse> measured;
    for (const auto& pod : services_.pods()) {
        PodPlaces places = places_of(*pod, services_.volumes.find_mounted(pod->metadata.uid), services_.log_root);
        CO_TRY(measured[pod->metadata.uid],
               co_await run_blocking<StorageUse>(services_.workers, [&files = services_.files, places = std::move(places)]() mutable {
                   return Result<StorageUse>(kubelet::measure(files, std::move(places)));
               }));
    }
    if (services_.csi) CO_TRY_VOID(co_await ask_drivers(measured));
    by_uid_ = std::move(measured);
    co_return {};
}

/// Side by side: one that does not answer holds up none.
Task<> StorageUsage::ask_drivers(std::map<std::string, StorageUse>& measured) {
    std::vector<Task<>> tasks;
    for (const auto& pod : services_.pods()) {
        const MountedVolumes* mounted = services_.volumes.find_mounted(pod->metadata.uid);
        if (!mounted) continue;
        for (const auto& [name, volume] : *mounted)
            if (!volume.csi_driver.empty()) tasks.push_back(ask_driver(pod, name, volume, measured[pod->metadata.uid]));
    }
    CO_TRY_VOID(co_await when_all(std::move(tasks)));
    co_return {};
}

Task<> StorageUsage::ask_driver(std::shared_ptr<const core::Pod> pod, std::string name, MountedVolume volume, StorageUse& use) {
    const auto stats = co_await services_.csi->stats(volume.csi_driver, volume.csi_handle, volume.path, DriverLimit);
    if (!stats) co_return is_cancelled(stats) ? Result<void>(stats.error()) : Result<void>();
    use.volumes.push_back({.name = name, .claim = volume.claim, .used = stats->used, .file_system = stats->file_system});
    if (services_.events && stats->condition && stats->condition->abnormal)
        services_.events->warning(reference_to(*pod), "VolumeConditionAbnormal",
                                  "Volume " + name + ": " + stats->condition->message.substr(0, 1024));
    co_return {};
}

const StorageUse& StorageUsage::of(const std::string& uid) const {
    static const StorageUse Nothing;
    const auto found = by_uid_.find(uid);
    return found == by_uid_.end() ? Nothing : found->second;
}

}  // namespace porthole::kubelet
