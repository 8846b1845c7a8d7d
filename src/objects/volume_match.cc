#include "objects/volume_match.h"

#include <algorithm>

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

}  // namespace

const std::string& class_of(const PersistentVolumeClaim& claim) {
    static const std::string None;
    return claim.spec.storage_class_name ? *claim.spec.storage_class_name : None;
}

bool is_reserved_for(const PersistentVolume& volume, const PersistentVolumeClaim& claim) {
    const auto& reference = volume.spec.claim_ref;
    if (!reference || reference->namespace_ != claim.metadata.namespace_ || reference->name != claim.metadata.name) return false;
    return reference->uid.empty() || reference->uid == claim.metadata.uid;
}

bool fits(const PersistentVolume& volume, const PersistentVolumeClaim& claim, const Node* node) {
    const auto offers = [&](const std::string& mode) {
        return std::ranges::find(volume.spec.access_modes, mode) != volume.spec.access_modes.end();
    };
    if (volume.metadata.deletion_timestamp || volume.spec.storage_class_name != class_of(claim)) return false;
    if (volume.spec.volume_mode.value_or(Filesystem) != claim.spec.volume_mode.value_or(Filesystem)) return false;
    if (!std::ranges::all_of(claim.spec.access_modes, offers)) return false;
    if (claim.spec.selector && !matches(*claim.spec.selector, volume.metadata.labels)) return false;
    if (amount(volume.spec.capacity) < amount(claim.spec.resources.requests)) return false;
    const bool anywhere = !volume.spec.node_affinity || !volume.spec.node_affinity->required;
    return anywhere || !node || matches(*volume.spec.node_affinity->required, *node);
}

std::shared_ptr<const PersistentVolume> choose_volume(const std::vector<std::shared_ptr<const PersistentVolume>>& volumes,
                                                      const PersistentVolumeClaim& claim, const Node* node) {
    std::shared_ptr<const PersistentVolume> best;
    for (const auto& volume : volumes) {
        if (is_reserved_for(*volume, claim)) {
            // Its maker has promised it, so class and size do not matter; what the pod could not work with does.
            if (!volume->metadata.deletion_timestamp && amount(volume->spec.capacity) >= amount(claim.spec.resources.requests))
                return volume;
            continue;
        }
        if (volume->spec.claim_ref || !fits(*volume, claim, node)) continue;
        if (!best || amount(volume->spec.capacity) < amount(best->spec.capacity)) best = volume;
    }
    return best;
}

}  // namespace porthole::objects
