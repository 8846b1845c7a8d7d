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

std::string extended_claim_name(const Pod& pod) {
    return pod.status.extended_resource_claim_status ? pod.status.extended_resource_claim_status->resource_claim_name : "";
}

bool is_of_extended_claim(const Pod& pod, const std::string& container, const std::string& resource) {
    const auto& status = pod.status.extended_resource_claim_status;
    return status && std::ranges::any_of(status->request_mappings, [&](const ContainerExtendedResourceRequest& one) {
               return one.container_name == container && one.resource_name == resource;
           });
}

bool is_extended_claim(const api::resource::v1::ResourceClaim& claim) {
    const auto mark = claim.metadata.annotations.find("resource.kubernetes.io/extended-resource-claim");
    return mark != claim.metadata.annotations.end() && mark->second == "true";
}

bool is_reserved_for(const api::resource::v1::ResourceClaim& claim, const std::string& pod_uid) {
    return std::ranges::any_of(claim.status.reserved_for, [&](const auto& consumer) { return consumer.uid == pod_uid; });
}

}  // namespace porthole::objects
