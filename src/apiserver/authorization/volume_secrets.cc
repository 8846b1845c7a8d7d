#include "apiserver/authorization/volume_secrets.h"

#include <algorithm>
#include <utility>

namespace porthole::apiserver {
namespace {

using namespace api::core::v1;

/// Those of drivers' controllers are not for nodes.
std::vector<std::string> node_secrets(const PersistentVolume& volume) {
    const auto& spec = volume.spec;
    std::vector<std::string> secrets;
    const auto add = [&](const std::string& namespace_, const std::string& name) {
        if (!namespace_.empty() && !name.empty()) secrets.push_back(namespace_ + "/" + name);
    };
    const auto add_meant = [&](const auto& reference) {
        if (reference) add(reference->namespace_, reference->name);
    };
    // Sources that had no namespace once: without one they mean that of the claim.
    const auto or_of_claim = [&](const std::string& own) { return own.empty() ? spec.claim_ref->namespace_ : own; };
    const auto add_meant_or_of_claim = [&](const auto& reference) {
        if (reference) add(or_of_claim(reference->namespace_), reference->name);
    };
    if (spec.azure_file) add(or_of_claim(spec.azure_file->secret_namespace.value_or("")), spec.azure_file->secret_name);
    if (spec.csi) {
        add_meant(spec.csi->node_publish_secret_ref);
        add_meant(spec.csi->node_stage_secret_ref);
        add_meant(spec.csi->node_expand_secret_ref);
    }
    if (spec.cephfs) add_meant_or_of_claim(spec.cephfs->secret_ref);
    if (spec.cinder) add_meant(spec.cinder->secret_ref);
    if (spec.flex_volume) add_meant_or_of_claim(spec.flex_volume->secret_ref);
    if (spec.iscsi) add_meant_or_of_claim(spec.iscsi->secret_ref);
    if (spec.rbd) add_meant_or_of_claim(spec.rbd->secret_ref);
    if (spec.scale_io) add_meant_or_of_claim(spec.scale_io->secret_ref);
    if (spec.storageos) add_meant(spec.storageos->secret_ref);
    return secrets;
}

}  // namespace

void VolumeSecrets::put_volume(const std::string& name, const PersistentVolume& volume) {
    remove_volume(name);
    if (!volume.spec.claim_ref) return;
    const ObjectReference& claim = *volume.spec.claim_ref;
    Volume one{.claim = claim.namespace_ + "/" + claim.name, .claim_uid = claim.uid, .secrets = node_secrets(volume)};
    if (one.secrets.empty()) return;
    for (const std::string& secret : one.secrets) having_[secret].insert(name);
    volumes_.emplace(name, std::move(one));
}

void VolumeSecrets::remove_volume(const std::string& name) {
    const auto found = volumes_.find(name);
    if (found == volumes_.end()) return;
    for (const std::string& secret : found->second.secrets) {
        having_[secret].erase(name);
        if (having_[secret].empty()) having_.erase(secret);
    }
    volumes_.erase(found);
}

void VolumeSecrets::clear_volumes() {
    volumes_.clear();
    having_.clear();
}

void VolumeSecrets::put_claim(const std::string& key, const PersistentVolumeClaim& claim) {
    claims_.erase(key);
    if (!claim.spec.volume_name.empty()) claims_[key] = {.uid = claim.metadata.uid, .volume = claim.spec.volume_name};
}

bool VolumeSecrets::are_bound(const std::string& name, const Volume& volume) const {
    const auto claim = claims_.find(volume.claim);
    return claim != claims_.end() && claim->second.volume == name && claim->second.uid == volume.claim_uid;
}

bool VolumeSecrets::is_of_claim(const std::string& secret, const std::function<bool(const std::string& claim)>& holds) const {
    const auto volumes = having_.find(secret);
    return volumes != having_.end() && std::ranges::any_of(volumes->second, [&](const std::string& name) {
               const Volume& volume = volumes_.at(name);
               return are_bound(name, volume) && holds(volume.claim);
           });
}

}  // namespace porthole::apiserver
