#include "objects/volume_match.h"

#include <algorithm>
#include <utility>

#include "objects/node_selectors.h"
#include "objects/selectors.h"

namespace porthole::objects {

using api::core::v1::Node;
using api::core::v1::PersistentVolume;
using api::core::v1::PersistentVolumeClaim;

namespace {

constexpr const char* Filesystem = "Filesystem";
constexpr const char* Storage = "storage";

Quantity amount(const std::map<std::string, Quantity>& amounts) {
    const auto found = amounts.find(Storage);
    return found == amounts.end() ? Quantity() : found->second;
}

const std::string* annotated_class(const api::meta::v1::ObjectMeta& metadata) {
    const auto found = metadata.annotations.find("volume.beta.kubernetes.io/storage-class");
    return found == metadata.annotations.end() ? nullptr : &found->second;
}

bool has_same_attributes(const PersistentVolume& volume, const PersistentVolumeClaim& claim) {
    return volume.spec.volume_attributes_class_name.value_or("") == claim.spec.volume_attributes_class_name.value_or("");
}

bool has_access_modes(const PersistentVolume& volume, const PersistentVolumeClaim& claim) {
    return std::ranges::all_of(claim.spec.access_modes, [&](const std::string& mode) {
        return std::ranges::find(volume.spec.access_modes, mode) != volume.spec.access_modes.end();
    });
}

}  // namespace

const std::string& class_of(const PersistentVolumeClaim& claim) {
    static const std::string None;
    if (const std::string* old = annotated_class(claim.metadata)) return *old;
    return claim.spec.storage_class_name ? *claim.spec.storage_class_name : None;
}

const std::string& class_of(const PersistentVolume& volume) {
    const std::string* old = annotated_class(volume.metadata);
    return old ? *old : volume.spec.storage_class_name;
}

bool names_class(const PersistentVolumeClaim& claim) { return claim.spec.storage_class_name || annotated_class(claim.metadata); }

bool is_reserved_for(const PersistentVolume& volume, const PersistentVolumeClaim& claim) {
    const auto& reference = volume.spec.claim_ref;
    if (!reference || reference->namespace_ != claim.metadata.namespace_ || reference->name != claim.metadata.name) return false;
    return reference->uid.empty() || reference->uid == claim.metadata.uid;
}

bool has_same_mode(const PersistentVolume& volume, const PersistentVolumeClaim& claim) {
    return volume.spec.volume_mode.value_or(Filesystem) == claim.spec.volume_mode.value_or(Filesystem);
}

std::string mismatch(const PersistentVolume& volume, const PersistentVolumeClaim& claim) {
    if (volume.metadata.deletion_timestamp) return "the volume is marked for deletion \"" + volume.metadata.name + "\"";
    if (amount(volume.spec.capacity) < amount(claim.spec.resources.requests)) return "requested PV is too small";
    if (class_of(volume) != class_of(claim)) return "storageClassName does not match";
    if (!has_same_attributes(volume, claim)) return "volumeAttributesClassName does not match";
    if (!has_same_mode(volume, claim)) return "incompatible volumeMode";
    return has_access_modes(volume, claim) ? "" : "incompatible accessMode";
}

bool fits(const PersistentVolume& volume, const PersistentVolumeClaim& claim, const Node* node) {
    if (!mismatch(volume, claim).empty()) return false;
    if (claim.spec.selector && !matches(*claim.spec.selector, volume.metadata.labels)) return false;
    const bool anywhere = !volume.spec.node_affinity || !volume.spec.node_affinity->required;
    return anywhere || !node || matches(*volume.spec.node_affinity->required, *node);
}

namespace {

/// The smaller suits better. Where no node is chosen, what can do no more than is asked for suits best, whatever its size.
std::pair<std::size_t, Quantity> rank(const PersistentVolume& volume, const Node* node) {
    return {node ? 0 : volume.spec.access_modes.size(), amount(volume.spec.capacity)};
}

}  // namespace

std::shared_ptr<const PersistentVolume> choose_volume(const std::vector<std::shared_ptr<const PersistentVolume>>& volumes,
                                                      const PersistentVolumeClaim& claim, const Node* node) {
    std::shared_ptr<const PersistentVolume> best;
    for (const auto& volume : volumes) {
        if (is_reserved_for(*volume, claim)) {
            // Its maker has promised it, so the class does not matter; what the pod could not work with does.
            if (!volume->metadata.deletion_timestamp && amount(volume->spec.capacity) >= amount(claim.spec.resources.requests) &&
                has_same_mode(*volume, claim) && has_same_attributes(*volume, claim) && has_access_modes(*volume, claim))
                return volume;
            continue;
        }
        if (volume->spec.claim_ref || !fits(*volume, claim, node)) continue;
        if (!best || rank(*volume, node) < rank(*best, node)) best = volume;
    }
    return best;
}

}  // namespace porthole::objects
