#include "apiserver/admission/plugins/token_audiences.h"

#include <algorithm>

#include "api/storage_v1.h"
#include "objects/csi_translation.h"

namespace porthole::apiserver {
namespace {

using namespace api::core::v1;
using api::storage::v1::CSIDriver;

Result<std::string> driver_of_claim(const ObjectReader& reader, const std::string& namespace_, const std::string& name) {
    TRY(const auto claim, reader.find<PersistentVolumeClaim>(namespace_, name));
    if (!claim || claim->spec.volume_name.empty()) return std::string();
    TRY(const auto volume, reader.find<PersistentVolume>("", claim->spec.volume_name));
    if (!volume) return std::string();
    const auto translated = objects::translated_to_csi(*volume);
    return translated && translated->spec.csi ? translated->spec.csi->driver : std::string();
}

/// "" for a volume of no CSI driver.
Result<std::string> driver_of(const ObjectReader& reader, const Pod& pod, const Volume& volume) {
    if (volume.csi) return volume.csi->driver;
    if (volume.ephemeral) return driver_of_claim(reader, pod.metadata.namespace_, pod.metadata.name + "-" + volume.name);
    if (volume.persistent_volume_claim) return driver_of_claim(reader, pod.metadata.namespace_, volume.persistent_volume_claim->claim_name);
    return objects::driver_of_in_tree_plugin(objects::in_tree_plugin_of(volume));
}

}  // namespace

Result<bool> needs_token_for(const ObjectReader& reader, const Pod& pod, const std::string& audience) {
    for (const Volume& volume : pod.spec.volumes) {
        const bool projects = volume.projected && std::ranges::any_of(volume.projected->sources, [&](const VolumeProjection& source) {
                                  return source.service_account_token && source.service_account_token->audience == audience;
                              });
        if (projects) return true;
        TRY(const std::string name, driver_of(reader, pod, volume));
        if (name.empty()) continue;
        TRY(const auto driver, reader.find<CSIDriver>("", name));
        if (driver && std::ranges::any_of(driver->spec.token_requests, [&](const auto& request) { return request.audience == audience; }))
            return true;
    }
    return false;
}

}  // namespace porthole::apiserver
