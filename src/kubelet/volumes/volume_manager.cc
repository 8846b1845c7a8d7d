#include "kubelet/volumes/volume_manager.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "base/result.h"
#include "client/events.h"
#include "kubelet/volumes/block_devices/device_volumes.h"
#include "kubelet/volumes/framework/mounter.h"
#include "kubelet/volumes/framework/token_source.h"
#include "kubelet/volumes/object_volumes/pod_certificates.h"
#include "kubelet/volumes/selinux/selinux_contexts.h"
#include "runtime/scope.h"
#include "runtime/worker_pool.h"
#include "windows/support.h"

namespace porthole::kubelet {

#define PORTHOLE_VOLUME_PLUGIN(name) std::unique_ptr<VolumePlugin> make_##name(const VolumeDependencies& given);
#include "kubelet/volumes/plugins.def"
#undef PORTHOLE_VOLUME_PLUGIN

namespace {

/// The plugins of plugins.def, in its order.
std::vector<std::unique_ptr<VolumePlugin>> make_volume_plugins(const VolumeDependencies& given) {
    std::vector<std::unique_ptr<VolumePlugin>> plugins;
#define PORTHOLE_VOLUME_PLUGIN(name) plugins.push_back(make_##name(given));
#include "kubelet/volumes/plugins.def"
#undef PORTHOLE_VOLUME_PLUGIN
    std::set<std::string_view> names;
    for (const auto& plugin : plugins) CHECK(names.insert(plugin->name()).second);
    return plugins;
}

/// "kubernetes.io/empty-dir" → "kubernetes.io~empty-dir", as a directory's name.
std::string directory_name(std::string plugin) {
    std::replace(plugin.begin(), plugin.end(), '/', '~');
    return plugin;
}

/// The volumes that some container has as directories, and those that one has as devices.
struct UsedVolumes {
    explicit UsedVolumes(const core::Pod& pod) {
        for (const ContainerSpec& spec : all_containers(pod)) {
            for (const core::VolumeMount& mount : spec.container.volume_mounts) mounted.insert(mount.name);
            for (const core::VolumeDevice& device : spec.container.volume_devices) mapped.insert(device.name);
        }
    }
    std::set<std::string> mounted, mapped;
};

cri::MountPropagation propagation_of(const core::VolumeMount& mount) {
    using Mode = core::MountPropagationMode;
    if (mount.mount_propagation == Mode::HostToContainer) return cri::MountPropagation::PropagationHostToContainer;
    if (mount.mount_propagation == Mode::Bidirectional) return cri::MountPropagation::PropagationBidirectional;
    return cri::MountPropagation::PropagationPrivate;
}

Result<bool> is_recursively_read_only(const core::VolumeMount& mount, bool supported) {
    using Mode = core::RecursiveReadOnlyMode;
    const std::string mode = mount.recursive_read_only.value_or(Mode::Disabled);
    if (mode == Mode::Disabled) return false;
    const std::string text = "volume \"" + mount.name + "\" requested recursive read-only mode, but it is not ";
    if (!mount.read_only) return Error(Reason::BadRequest, text + "read-only");
    if (mount.mount_propagation.value_or(core::MountPropagationMode::None) != core::MountPropagationMode::None)
        return Error(Reason::BadRequest, text + "compatible with propagation \"" + *mount.mount_propagation + "\"");
    if (mode == Mode::IfPossible) return supported;
    if (mode != Mode::Enabled) return Error(Reason::BadRequest, "unknown recursive read-only mode \"" + mode + "\"");
    if (!supported) return Error(Reason::BadRequest, text + "supported by the runtime");
    return true;
}

/// Of either system: "/a", "\\a", "C:\\a".
bool is_absolute(const std::string& path) { return path.starts_with('/') || path.starts_with('\\') || (path.size() > 1 && path[1] == ':'); }

bool leads_out(const std::string& path) {
    if (path.starts_with('/')) return true;
    for (std::size_t at = 0; at <= path.size();) {
        const std::size_t slash = std::min(path.find('/', at), path.size());
        if (path.substr(at, slash - at) == "..") return true;
        at = slash + 1;
    }
    return false;
}

}  // namespace

VolumeManager::VolumeManager(VolumeDependencies given, Logger log, std::string root_directory)
    : given_(given), log_(std::move(log)), root_(std::move(root_directory)), plugins_(make_volume_plugins(given_)) {}

Task<MountedVolumes> VolumeManager::set_up(std::shared_ptr<const core::Pod> pod, ResourceList node_allocatable) {
    const std::shared_ptr<Semaphore> lock = lock_of(pod->metadata.uid);
    CO_TRY(const auto permit, co_await lock->acquire());
    std::vector<std::string> names;
    std::vector<Task<MountedVolume>> tasks;
    const UsedVolumes used(*pod);
    for (const core::Volume& volume : pod->spec.volumes) {
        const VolumeUse use{.mounted = used.mounted.contains(volume.name), .mapped = used.mapped.contains(volume.name)};
        if (!use.mounted && !use.mapped) continue;
        names.push_back(volume.name);
        tasks.push_back(set_up_and_tell(pod, volume, use, node_allocatable));
    }
    CO_TRY(auto results, co_await when_all(std::move(tasks)));
    for (const auto& result : results)
        if (is_cancelled(result)) co_return result.error();
    MountedVolumes mounted;
    for (std::size_t i = 0; i < results.size(); ++i) {
        if (!results[i]) co_return std::move(results[i]).error();
        mounted[names[i]] = *std::move(results[i]);
    }
    mounted_[pod->metadata.uid] = mounted;
    co_return mounted;
}

Task<MountedVolume> VolumeManager::set_up_and_tell(std::shared_ptr<const core::Pod> pod, core::Volume volume, VolumeUse use,
                                                   ResourceList node_allocatable) {
    VolumeStep step{"FailedMount", "MountVolume.SetUp failed for volume \"" + volume.name + "\" : "};
    const std::string uid = pod->metadata.uid, name = volume.name;
    const bool refreshes = find_mounted(uid) != nullptr;
    const MonotonicTime begin = given_.host.loop.now();
    auto made = co_await set_up_one(pod, std::move(volume), use, std::move(node_allocatable), step);
    if (is_cancelled(made)) co_return made;
    std::string& plugin = plugins_of_[uid][name];  // "" where there is none for it
    if (made && !made->csi_driver.empty()) plugin = "kubernetes.io/csi:" + made->csi_driver;
    if (!refreshes && !plugin.empty()) record("volume_mount", plugin, made.has_value(), begin);
    if (made) co_return made;
    Error error(made.error().reason, step.text + made.error().message);
    given_.api.events.warning(reference_to(*pod), step.reason, error.message);
    co_return error;
}

Task<MountedVolume> VolumeManager::set_up_one(std::shared_ptr<const core::Pod> pod, core::Volume volume, VolumeUse use,
                                              ResourceList node_allocatable, VolumeStep& step) {
    if (const std::string refusal = given_.host.windows ? windows::volume_refusal(volume) : ""; !refusal.empty())
        co_return Error(Reason::BadRequest, refusal);
    const auto plugin = std::ranges::find_if(plugins_, [&](const auto& one) { return one->supports(volume); });
    if (plugin == plugins_.end()) co_return Error(Reason::BadRequest, "this node has no plugin for this kind of volume");
    plugins_of_[pod->metadata.uid].try_emplace(volume.name, (*plugin)->name());
    if (given_.host.selinux && claim_of(*pod, volume).empty())
        CO_TRY_VOID(
            given_.host.selinux->admit(*pod, volume.name, {.name = pod->metadata.uid + "/" + volume.name, .plugin = (*plugin)->name()}));
    const std::string place = directory_name((*plugin)->name()) + "/" + volume.name, directory = pod_directory(pod->metadata.uid);
    co_return co_await (*plugin)->set_up({.pod = std::move(pod),
                                          .volume = std::move(volume),
                                          .directory = directory + "/volumes/" + place,
                                          .ready_mark = directory + "/plugins/" + place + "/ready",
                                          .mounted = use.mounted,
                                          .mapped = use.mapped,
                                          .node_allocatable = std::move(node_allocatable),
                                          .step = step});
}

Task<std::vector<cri::Mount>> VolumeManager::mounts_for(const core::Pod& pod, const core::Container& container,
                                                        const MountedVolumes& volumes, const Environment& environment,
                                                        bool recursive_read_only) {
    std::vector<cri::Mount> mounts;
    const VariablesByName variables(environment);
    for (std::size_t i = 0; i < container.volume_mounts.size(); ++i) {
        const core::VolumeMount& wanted = container.volume_mounts[i];
        const auto volume = volumes.find(wanted.name);
        if (volume == volumes.end() || volume->second.is_block)
            co_return Error(Reason::BadRequest,
                            "cannot find volume \"" + wanted.name + "\" to mount into container \"" + container.name + "\"");
        CO_TRY(const bool recursively, is_recursively_read_only(wanted, recursive_read_only));
        std::string host_path = volume->second.path;
        CO_TRY(const std::string sub_path, sub_path_of(wanted, variables));
        const std::string& image = volume->second.image;
        if (!sub_path.empty() && image.empty()) {
            CO_TRY(host_path, co_await bind_sub_path(pod, container, i, volume->second, sub_path));
        }
        cri::Mount& mount = mounts.emplace_back();
        mount.container_path = is_absolute(wanted.mount_path) ? wanted.mount_path : "/" + wanted.mount_path;
        mount.host_path = std::move(host_path);
        if (!image.empty()) {
            mount.image.emplace().image = image;
            mount.image_sub_path = sub_path;
        }
        mount.readonly = wanted.read_only || volume->second.read_only;
        mount.recursive_read_only = recursively;
        mount.propagation = propagation_of(wanted);
        mount.selinux_relabel = given_.host.selinux && volume->second.relabel;
    }
    co_return mounts;
}

Result<std::vector<cri::Device>> VolumeManager::devices_for(const core::Container& container, const MountedVolumes& volumes) const {
    std::vector<cri::Device> devices;
    for (const core::VolumeDevice& wanted : container.volume_devices) {
        const auto volume = volumes.find(wanted.name);
        if (volume == volumes.end() || !volume->second.is_block)
            return Error(Reason::BadRequest,
                         "cannot find volume \"" + wanted.name + "\" to pass into container \"" + container.name + "\"");
        devices.push_back({.container_path = wanted.device_path,
                           .host_path = volume->second.path,
                           .permissions = volume->second.read_only ? "r" : "mrw"});
    }
    return devices;
}

std::vector<std::int64_t> VolumeManager::groups_for(const core::Pod& pod, const MountedVolumes& volumes) {
    std::set<std::int64_t> groups;
    for (const auto& [name, volume] : volumes)
        if (volume.group) groups.insert(*volume.group);
    if (pod.spec.security_context)
        for (const std::int64_t own : pod.spec.security_context->supplemental_groups) groups.erase(own);
    return {groups.begin(), groups.end()};
}

Result<void> VolumeManager::admit(const core::Container& container, const MountedVolumes& volumes, const std::string& account) {
    for (const core::VolumeMount& mount : container.volume_mounts) {
        const auto volume = volumes.find(mount.name);
        if (volume == volumes.end() || !volume->second.restricted) continue;
        auto allowed = given_.host.files.allow_reading(volume->second.path, account);
        // No one can be let in by a name that this machine does not know: the container fails when it starts, which ends its pod.
        if (!allowed && !is_not_found(allowed)) return allowed;
    }
    return {};
}

Result<std::string> VolumeManager::sub_path_of(const core::VolumeMount& mount, const VariablesByName& environment) const {
    std::string sub_path = mount.sub_path;
    if (!mount.sub_path_expr.empty()) {
        constexpr std::size_t LongestPath = 64 * 1024;  // no file system takes as much
        std::string missing;
        const auto lookup = [&](std::string_view name) {
            const std::string* value = environment.find(name);
            if (!value) missing = name;
            return value;
        };
        TRY(sub_path, expand(mount.sub_path_expr, lookup, LongestPath));
        if (!missing.empty()) return Error(Reason::BadRequest, "missing value for \"" + missing + "\"");
    }
    if (leads_out(sub_path))
        return Error(Reason::BadRequest, "invalid subPath \"" + sub_path + "\": must be relative and not contain '..'");
    return sub_path;
}

/// By a worker: the volume may be of a server that is away.
Task<std::string> VolumeManager::bind_sub_path(const core::Pod& pod, const core::Container& container, std::size_t index,
                                               const MountedVolume& volume, const std::string& sub_path) {
    const std::string target = pod_directory(pod.metadata.uid) + "/volume-subpaths/" + container.volume_mounts[index].name + "/" +
                               container.name + "/" + std::to_string(index);
    const std::string of_mount = "for volumeMount \"" + container.volume_mounts[index].name + "\" of container \"" + container.name + "\"";
    Semaphore::Permit permit;
    if (volume.is_remote || volume.has_file_system || !volume.csi_driver.empty()) {
        CO_TRY(permit, co_await foreign_binds_.acquire());
    }
    co_return co_await run_blocking<std::string>(given_.host.workers, [&]() -> Result<std::string> {
        Result<std::string> bound = given_.host.mounter.bind_beneath(volume.path, sub_path, target);
        if (is_not_found(bound)) {
            auto made = given_.host.mounter.make_beneath(volume.path, sub_path);
            if (!made) return std::move(made).error().with_context("failed to create subPath directory " + of_mount);
            bound = given_.host.mounter.bind_beneath(volume.path, sub_path, target);
        }
        if (!bound) return std::move(bound).error().with_context("failed to prepare subPath " + of_mount);
        return bound;
    });
}

Task<> VolumeManager::tear_down(std::string uid) {
    const std::shared_ptr<Semaphore> lock = lock_of(uid);
    CO_TRY(const auto permit, co_await lock->acquire());
    given_.api.tokens.forget_pod(uid);
    if (given_.api.certificates) given_.api.certificates->forget_pod(uid);
    if (given_.host.selinux) given_.host.selinux->forget_pod(uid);
    mounted_.erase(uid);
    const std::string directory = pod_directory(uid);
    const MonotonicTime begin = given_.host.loop.now();
    // Drivers may refuse to take down what is still mounted elsewhere.
    CO_TRY_VOID(co_await unmount_below(directory + "/volume-subpaths"));
    for (const auto& plugin : plugins_) CO_TRY_VOID(co_await plugin->tear_down(uid));
    if (given_.providers.devices) CO_TRY_VOID(co_await given_.providers.devices->tear_down(uid));
    CO_TRY_VOID(co_await unmount_below(directory));
    // Containers leave any number of files.
    CO_TRY_VOID(co_await run_blocking<void>(given_.host.workers, [&] { return given_.host.files.remove_all(directory); }));
    if (const auto volumes = plugins_of_.extract(uid))
        for (const auto& [name, plugin] : volumes.mapped()) record("volume_unmount", plugin, true, begin);
    co_return {};
}

void VolumeManager::record(const char* name, const std::string& plugin, bool succeeded, MonotonicTime begin) {
    operations_.add(metric_label("migrated", "false") + "," + metric_label("operation_name", name) + "," +
                        metric_label("status", succeeded ? "success" : "fail-unknown") + "," + metric_label("volume_plugin", plugin),
                    given_.host.loop.now() - begin);
}

void VolumeManager::append_metrics(std::string& out) const {
    operations_.append(out, "storage_operation_duration_seconds", "Storage operation duration");
    std::map<std::pair<std::string, const char*>, std::size_t> totals;
    for (const auto& [uid, volumes] : plugins_of_) {
        const MountedVolumes* mounted = find_mounted(uid);
        for (const auto& [name, plugin] : volumes) {
            ++totals[{plugin, "desired_state_of_world"}];
            if (mounted && mounted->contains(name)) ++totals[{plugin, "actual_state_of_world"}];
        }
    }
    const MetricFamily family(out, "volume_manager_total_volumes", "gauge", "Number of volumes in Volume Manager");
    for (const auto& [labels, count] : totals)
        family.add(metric_label("plugin_name", labels.first) + "," + metric_label("state", labels.second), count);
    if (given_.host.selinux) given_.host.selinux->append_metrics(out);
}

Task<> VolumeManager::unmount_below(std::string directory) {
    co_return co_await run_blocking<void>(given_.host.workers, [&mounter = given_.host.mounter, directory]() -> Result<void> {
        TRY(const auto mounts, mounter.mounts_below(directory));
        for (const std::string& mount : mounts) TRY_VOID(mounter.unmount(mount));
        return {};
    });
}

std::shared_ptr<Semaphore> VolumeManager::lock_of(const std::string& uid) {
    std::erase_if(locks_, [](const auto& entry) { return entry.second.expired(); });
    std::shared_ptr<Semaphore> lock = locks_[uid].lock();
    if (!lock) locks_[uid] = lock = std::make_shared<Semaphore>(1);
    return lock;
}

const MountedVolumes* VolumeManager::find_mounted(const std::string& uid) const {
    const auto found = mounted_.find(uid);
    return found == mounted_.end() ? nullptr : &found->second;
}

std::vector<std::string> VolumeManager::pods_on_disk() {
    return given_.host.files.list(root_ + "/pods").value_or(std::vector<std::string>());
}

}  // namespace porthole::kubelet
