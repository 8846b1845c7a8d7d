#include "controllers/persistent_volume/claims_of.h"

namespace porthole::controllers {

std::string ephemeral_claim_name(const api::core::v1::Pod& pod, const api::core::v1::Volume& volume) {
    return pod.metadata.name + "-" + volume.name;
}

std::vector<std::string> claims_of(const api::core::v1::Pod& pod) {
    std::vector<std::string> keys;
    for (const auto& volume : pod.spec.volumes) {
        if (volume.persistent_volume_claim) keys.push_back(pod.metadata.namespace_ + "/" + volume.persistent_volume_claim->claim_name);
        if (volume.ephemeral) keys.push_back(pod.metadata.namespace_ + "/" + ephemeral_claim_name(pod, volume));
    }
    return keys;
}

}  // namespace porthole::controllers
