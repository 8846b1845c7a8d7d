#include "controllers/attach_detach/attachable_volumes.h"

#include <algorithm>

#include "objects/csi_translation.h"
#include "objects/csi_volume.h"
#include "objects/owners.h"
#include "objects/pods.h"

namespace porthole::controllers {

using api::core::v1::ContainerStatus;
using api::core::v1::Node;
using api::core::v1::PersistentVolume;
using api::core::v1::PersistentVolumeClaim;
using api::core::v1::Pod;
using api::core::v1::Volume;
using api::storage::v1::CSIDriver;

namespace {

constexpr const char* ManagedAnnotation = "volumes.kubernetes.io/controller-managed-attach-detach";

std::string claim_name(const Pod& pod, const Volume& volume) {
    if (volume.persistent_volume_claim) return volume.persistent_volume_claim->claim_name;
    return volume.ephemeral ? pod.metadata.name + "-" + volume.name : "";
}

/// Keys of the claims that the pod names, or of those that were made for it alone.
std::vector<std::string> claims_of(const Pod& pod, bool own) {
    std::vector<std::string> keys;
    for (const Volume& volume : pod.spec.volumes)
        if (volume.persistent_volume_claim ? !own : own && volume.ephemeral)
            keys.push_back(pod.metadata.namespace_ + "/" + claim_name(pod, volume));
    return keys;
}

/// The PersistentVolume that an inline volume stands for. One that cannot be translated is none: the kubelet says so.
std::optional<PersistentVolume> inline_volume(const Pod& pod, const Volume& volume) {
    auto translated = objects::translated_to_csi(volume, pod.metadata.namespace_);
    return translated ? std::move(*translated) : std::nullopt;
}

std::vector<std::string> inline_volumes_of(const Pod& pod) {
    std::vector<std::string> names;
    for (const Volume& volume : pod.spec.volumes)
        if (const auto made = inline_volume(pod, volume)) names.push_back(objects::unique_volume_name(*made->spec.csi));
    return names;
}

bool may_use_driver(const Pod& pod, const Volume& volume) {
    return volume.persistent_volume_claim || volume.ephemeral || volume.csi || inline_volume(pod, volume);
}

/// Without an access mode the driver decides.
bool is_exclusive(const PersistentVolume& volume) {
    const auto& modes = volume.spec.access_modes;
    return !modes.empty() &&
           std::ranges::none_of(modes, [](const std::string& mode) { return mode == "ReadWriteMany" || mode == "ReadOnlyMany"; });
}

bool none_runs(const std::vector<ContainerStatus>& statuses) {
    return std::ranges::all_of(statuses, [](const ContainerStatus& one) { return one.state.terminated || one.state.waiting; });
}

}  // namespace

AttachableVolumes::AttachableVolumes(client::Informers& informers)
    : pods_(informers.get<Pod>()),
      claims_(informers.get<PersistentVolumeClaim>()),
      volumes_(informers.get<PersistentVolume>()),
      nodes_(informers.get<Node>()),
      drivers_(informers.get<CSIDriver>()),
      pods_by_claim_(pods_.add_index([](const Pod& pod) { return claims_of(pod, false); })),
      pods_by_own_claim_(pods_.add_index([](const Pod& pod) { return claims_of(pod, true); })),
      pods_with_volumes_(pods_.add_index([](const Pod& pod) {
          const bool has = std::ranges::any_of(pod.spec.volumes, [&](const Volume& one) { return may_use_driver(pod, one); });
          return has ? std::vector<std::string>{""} : std::vector<std::string>();
      })),
      volumes_by_name_(volumes_.add_index([](const PersistentVolume& volume) { return std::vector{name_of(volume)}; })) {
    follow_inline_volumes();
}

void AttachableVolumes::follow_inline_volumes() {
    const auto add = [this](const Pod& pod) {
        const auto& volumes = pod.spec.volumes;
        for (std::size_t at = 0; at < volumes.size(); ++at)
            if (const auto made = inline_volume(pod, volumes[at]))
                inline_volumes_[objects::unique_volume_name(*made->spec.csi)].emplace(client::key_of(pod), at);
    };
    const auto remove = [this](const Pod& pod) {
        for (const std::string& name : inline_volumes_of(pod)) {
            const auto found = inline_volumes_.find(name);
            if (found == inline_volumes_.end()) continue;  // named twice
            found->second.erase(client::key_of(pod));
            if (found->second.empty()) inline_volumes_.erase(found);
        }
    };
    pods_.subscribe({.added = [add](const auto& pod) { add(*pod); },
                     .updated =
                         [add, remove](const auto& old, const auto& pod) {
                             if (old->spec.volumes == pod->spec.volumes) return;
                             remove(*old);
                             add(*pod);
                         },
                     .deleted = [remove](const auto& pod) { remove(*pod); }});
}

std::string AttachableVolumes::name_of(const PersistentVolume& volume) {
    const auto translated = objects::translated_to_csi(volume);
    return translated && translated->spec.csi ? objects::unique_volume_name(*translated->spec.csi) : "";
}

std::string AttachableVolumes::name_of(const Attachment& attachment) const {
    std::string name;
    const auto& source = attachment.spec.source;
    if (source.persistent_volume_name) {
        if (const auto volume = volumes_.find({"", *source.persistent_volume_name})) name = name_of(*volume);
    } else if (source.inline_volume_spec && source.inline_volume_spec->csi) {
        name = objects::unique_volume_name(*source.inline_volume_spec->csi);
    }
    const auto parsed = objects::parse_unique_volume_name(name);
    if (!parsed || attachment.metadata.name != objects::attachment_name(parsed->driver, parsed->handle, attachment.spec.node_name))
        return "";
    return name;
}

AttachableVolumes::VolumeRef AttachableVolumes::bound_volume(const PersistentVolumeClaim& claim) const {
    if (claim.status.phase != "Bound" || claim.spec.volume_name.empty()) return nullptr;
    const VolumeRef volume = volumes_.find({"", claim.spec.volume_name});
    const bool bound = volume && volume->spec.claim_ref && volume->spec.claim_ref->uid == claim.metadata.uid;
    return bound ? volume : nullptr;
}

std::vector<std::string> AttachableVolumes::names_of_claim(const std::string& namespace_, const std::string& claim) const {
    const auto found = claims_.find({namespace_, claim});
    const VolumeRef volume = found ? bound_volume(*found) : nullptr;
    std::string name = volume ? name_of(*volume) : "";
    return name.empty() ? std::vector<std::string>() : std::vector{std::move(name)};
}

std::vector<std::string> AttachableVolumes::names_of(const Pod& pod) const {
    std::vector<std::string> names = inline_volumes_of(pod);
    for (const Volume& volume : pod.spec.volumes)
        if (const std::string claim = claim_name(pod, volume); !claim.empty())
            for (std::string& name : names_of_claim(pod.metadata.namespace_, claim)) names.push_back(std::move(name));
    return names;
}

std::vector<std::string> AttachableVolumes::names_of_driver(const std::string& driver) const {
    std::vector<std::string> names;
    for (const auto& volume : volumes_.list()) {
        std::string name = name_of(*volume);
        const auto parsed = objects::parse_unique_volume_name(name);
        if (parsed && parsed->driver == driver) names.push_back(std::move(name));
    }
    return names;
}

bool AttachableVolumes::is_over(const Pod& pod) {
    if (objects::is_terminal(pod)) return true;
    return objects::is_terminating(pod) && none_runs(pod.status.init_container_statuses) && none_runs(pod.status.container_statuses) &&
           none_runs(pod.status.ephemeral_container_statuses);
}

bool AttachableVolumes::is_managed(const std::string& name) const {
    const auto node = nodes_.find({"", name});
    return node && node->metadata.annotations.contains(ManagedAnnotation);
}

void AttachableVolumes::add_pods(const std::vector<WantedVolume::PodRef>& pods, WantedVolume& wanted) const {
    for (const auto& pod : pods)
        if (!is_over(*pod) && is_managed(pod->spec.node_name)) wanted.nodes[pod->spec.node_name].push_back(pod);
}

/// A pod may not use the claim of another one that only has the right name.
std::vector<WantedVolume::PodRef> AttachableVolumes::users_of(const PersistentVolumeClaim& claim) const {
    const std::string key = client::key_of(claim).text();
    std::vector<WantedVolume::PodRef> pods = pods_by_claim_.find(key);
    for (const auto& pod : pods_by_own_claim_.find(key))
        if (objects::is_controlled_by(claim.metadata, pod->metadata.uid) && std::ranges::find(pods, pod) == pods.end()) pods.push_back(pod);
    return pods;
}

std::optional<WantedVolume> AttachableVolumes::find_wanted(const std::string& name) const {
    const auto parsed = objects::parse_unique_volume_name(name);
    if (!parsed) return std::nullopt;
    const auto driver = drivers_.find({"", parsed->driver});
    if (driver && !driver->spec.attach_required.value_or(true)) return std::nullopt;
    WantedVolume wanted;
    for (const VolumeRef& volume : volumes_by_name_.find(name)) {
        const auto& reference = volume->spec.claim_ref;
        const auto claim = reference ? claims_.find({reference->namespace_, reference->name}) : nullptr;
        if (!claim || bound_volume(*claim) != volume) continue;
        wanted.title = volume->metadata.name;
        wanted.source = {};
        wanted.source.persistent_volume_name = volume->metadata.name;
        wanted.exclusive = is_exclusive(*objects::translated_to_csi(*volume));
        add_pods(users_of(*claim), wanted);
    }
    if (const auto users = inline_volumes_.find(name); users != inline_volumes_.end()) {
        for (const auto& [key, at] : users->second) {
            const auto pod = pods_.find(key);
            if (wanted.title.empty()) {
                const auto made = inline_volume(*pod, pod->spec.volumes[at]);
                wanted.title = made->metadata.name;
                wanted.source.inline_volume_spec = made->spec;
                wanted.exclusive = is_exclusive(*made);
            }
            add_pods({pod}, wanted);
        }
    }
    if (wanted.nodes.empty()) return std::nullopt;
    return wanted;
}

}  // namespace porthole::controllers
