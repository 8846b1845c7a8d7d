#include "kubelet/volumes/volume_manager.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "base/result.h"
#include "kubelet/container/environment.h"

namespace porthole::kubelet {

#define PORTHOLE_VOLUME_PLUGIN(name) std::unique_ptr<VolumePlugin> make_##name();
#include "kubelet/volumes/plugins.def"
#undef PORTHOLE_VOLUME_PLUGIN

namespace {

/// The plugins of plugins.def, in its order.
std::vector<std::unique_ptr<VolumePlugin>> make_volume_plugins() {
    std::vector<std::unique_ptr<VolumePlugin>> plugins;
#define PORTHOLE_VOLUME_PLUGIN(name) plugins.push_back(make_##name());
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

std::set<std::string> used_volumes(const core::Pod& pod) {
    std::set<std::string> names;
    for (const ContainerSpec& spec : all_containers(pod))
        for (const core::VolumeMount& mount : spec.container.volume_mounts) names.insert(mount.name);
    return names;
}

cri::MountPropagation propagation_of(const core::VolumeMount& mount) {
    using Mode = core::MountPropagationMode;
    if (mount.mount_propagation == Mode::HostToContainer) return cri::MountPropagation::PropagationHostToContainer;
    if (mount.mount_propagation == Mode::Bidirectional) return cri::MountPropagation::PropagationBidirectional;
    return cri::MountPropagation::PropagationPrivate;
}

bool is_image(const core::Pod& pod, const std::string& volume) {
    return std::ranges::any_of(pod.spec.volumes, [&](const core::Volume& one) { return one.name == volume && one.image; });
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

VolumeManager::VolumeManager(VolumeServices services, Logger log, std::string root_directory)
    : services_(services), log_(std::move(log)), root_(std::move(root_directory)), plugins_(make_volume_plugins()) {}

Task<MountedVolumes> VolumeManager::set_up(std::shared_ptr<const core::Pod> pod, ResourceList node_allocatable) {
    MountedVolumes mounted;
    const std::set<std::string> used = used_volumes(*pod);
    for (const core::Volume& volume : pod->spec.volumes) {
        if (!used.contains(volume.name)) continue;
        const auto plugin = std::find_if(plugins_.begin(), plugins_.end(), [&](const auto& p) { return p->supports(volume); });
        if (plugin == plugins_.end())
            co_return Error(Reason::BadRequest, "MountVolume.SetUp failed for volume \"" + volume.name +
                                                    "\" : this node has no plugin for this kind of volume");
        const std::string directory =
            pod_directory(pod->metadata.uid) + "/volumes/" + directory_name((*plugin)->name()) + "/" + volume.name;
        auto path = co_await (*plugin)->set_up({pod, volume, directory, node_allocatable}, services_);
        if (is_cancelled(path)) co_return std::move(path).error();
        if (!path) {
            co_return Error(path.error().reason, "MountVolume.SetUp failed for volume \"" + volume.name + "\" : " + path.error().message);
        }
        if (const std::string claim = claim_of(*pod, volume); !claim.empty())
            claim_volumes_.insert({pod->metadata.uid, pod->metadata.namespace_, claim, volume.name, *path});
        mounted[volume.name] = std::move(*path);
    }
    co_return mounted;
}

Result<std::vector<cri::Mount>> VolumeManager::mounts_for(const core::Pod& pod, const core::Container& container,
                                                          const MountedVolumes& volumes, const Environment& environment) {
    std::vector<cri::Mount> mounts;
    for (std::size_t i = 0; i < container.volume_mounts.size(); ++i) {
        const core::VolumeMount& wanted = container.volume_mounts[i];
        const auto volume = volumes.find(wanted.name);
        if (volume == volumes.end())
            return Error(Reason::BadRequest,
                         "cannot find volume \"" + wanted.name + "\" to mount into container \"" + container.name + "\"");
        if (wanted.recursive_read_only.value_or("") == "Enabled")
            return Error(Reason::BadRequest,
                         "volume \"" + wanted.name + "\" cannot be mounted: this node does not support recursive read-only mounts");
        std::string host_path = volume->second;
        TRY(const std::string sub_path, sub_path_of(wanted, environment));
        if (!sub_path.empty()) {
            TRY(host_path, bind_sub_path(pod, container, i, host_path, sub_path));
        }
        cri::Mount& mount = mounts.emplace_back();
        mount.container_path = is_absolute(wanted.mount_path) ? wanted.mount_path : "/" + wanted.mount_path;
        mount.host_path = std::move(host_path);
        mount.readonly = wanted.read_only || is_image(pod, wanted.name);
        mount.propagation = propagation_of(wanted);
    }
    return mounts;
}

Result<std::string> VolumeManager::sub_path_of(const core::VolumeMount& mount, const Environment& environment) const {
    std::string sub_path = mount.sub_path;
    if (!mount.sub_path_expr.empty()) {
        std::string missing;
        sub_path = expand(mount.sub_path_expr, [&](std::string_view name) {
            auto value = find_variable(environment, name);
            if (!value) missing = name;
            return value;
        });
        if (!missing.empty()) return Error(Reason::BadRequest, "missing value for \"" + missing + "\"");
    }
    if (leads_out(sub_path))
        return Error(Reason::BadRequest, "invalid subPath \"" + sub_path + "\": must be relative and not contain '..'");
    return sub_path;
}

Result<std::string> VolumeManager::bind_sub_path(const core::Pod& pod, const core::Container& container, std::size_t index,
                                                 const std::string& volume_path, const std::string& sub_path) {
    const std::string target = pod_directory(pod.metadata.uid) + "/volume-subpaths/" + container.volume_mounts[index].name + "/" +
                               container.name + "/" + std::to_string(index);
    Result<std::string> bound = services_.mounter.bind_beneath(volume_path, sub_path, target);
    if (is_not_found(bound)) {
        TRY_VOID(services_.mounter.make_beneath(volume_path, sub_path));
        bound = services_.mounter.bind_beneath(volume_path, sub_path, target);
    }
    if (!bound)
        return Error(bound.error().reason, "failed to prepare subPath for volumeMount \"" + container.volume_mounts[index].name +
                                               "\" of container \"" + container.name + "\": " + bound.error().message);
    return bound;
}

Result<void> VolumeManager::tear_down(const std::string& uid) {
    services_.tokens.forget_pod(uid);
    std::erase_if(claim_volumes_, [&](const ClaimVolume& one) { return one.pod_uid == uid; });
    const std::string directory = pod_directory(uid);
    TRY(const auto mounts, services_.mounter.mounts_below(directory));
    for (const std::string& mount : mounts) TRY_VOID(services_.mounter.unmount(mount));
    return services_.files.remove_all(directory);
}

std::vector<std::string> VolumeManager::pods_on_disk() {
    return services_.files.list(root_ + "/pods").value_or(std::vector<std::string>());
}

}  // namespace porthole::kubelet
