#include "objects/resource_claims.h"

#include <algorithm>

namespace porthole::objects {

using namespace api::core::v1;

std::optional<std::string> resource_claim_name(const Pod& pod, const PodResourceClaim& entry) {
    if (entry.resource_claim_name) return entry.resource_claim_name;
    const auto status = std::ranges::find(pod.status.resource_claim_statuses, entry.name, &PodResourceClaimStatus::name);
    if (status == pod.status.resource_claim_statuses.end()) return std::nullopt;
    return status->resource_claim_name.value_or("");
}

bool is_reserved_for(const api::resource::v1::ResourceClaim& claim, const std::string& pod_uid) {
    return std::ranges::any_of(claim.status.reserved_for, [&](const auto& consumer) { return consumer.uid == pod_uid; });
}

}  // namespace porthole::objects
