#include "objects/resource_claims.h"

#include <algorithm>

namespace porthole::objects {

using namespace api::core::v1;

std::unordered_map<std::string_view, std::optional<std::string>> resource_claim_names(const Pod& pod) {
    std::unordered_map<std::string_view, const PodResourceClaimStatus*> statuses;
    if (!pod.spec.resource_claims.empty())
        for (const PodResourceClaimStatus& status : pod.status.resource_claim_statuses) statuses.try_emplace(status.name, &status);
    std::unordered_map<std::string_view, std::optional<std::string>> names;
    for (const PodResourceClaim& entry : pod.spec.resource_claims) {
        const auto [name, is_new] = names.try_emplace(entry.name, entry.resource_claim_name);
        if (!is_new || name->second) continue;
        if (const auto status = statuses.find(entry.name); status != statuses.end())
            name->second = status->second->resource_claim_name.value_or("");
    }
    return names;
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
