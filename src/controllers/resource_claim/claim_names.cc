#include "controllers/resource_claim/claim_names.h"

#include <algorithm>

#include "objects/pods.h"

namespace porthole::controllers {

using namespace api::core::v1;

std::optional<std::string> resource_claim_name(const Pod& pod, const PodResourceClaim& entry) {
    if (entry.resource_claim_name) return entry.resource_claim_name;
    const auto status = std::ranges::find(pod.status.resource_claim_statuses, entry.name, &PodResourceClaimStatus::name);
    return status == pod.status.resource_claim_statuses.end() ? std::nullopt : status->resource_claim_name;
}

std::vector<std::string> resource_claim_names(const Pod& pod) {
    std::vector<std::string> names;
    for (const PodResourceClaim& entry : pod.spec.resource_claims)
        if (auto name = resource_claim_name(pod, entry)) names.push_back(*std::move(name));
    return names;
}

std::string generated_claim_base(const std::string& pod, const std::string& entry) {
    constexpr std::size_t Longest = 57;
    const std::string whole = pod + "-" + entry + "-";
    if (whole.size() <= Longest) return whole;
    return pod.substr(0, pod.size() * Longest / whole.size()) + "-" + entry.substr(0, entry.size() * Longest / whole.size());
}

bool is_reserved_for(const api::resource::v1::ResourceClaim& claim, const std::string& pod_uid) {
    return std::ranges::any_of(claim.status.reserved_for, [&](const auto& consumer) { return consumer.uid == pod_uid; });
}

bool is_pod_over(const Pod& pod) { return objects::is_terminal(pod) || (pod.metadata.deletion_timestamp && pod.spec.node_name.empty()); }

}  // namespace porthole::controllers
